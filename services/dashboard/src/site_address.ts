import { addressOf } from './router.ts';

/** The address of a page of a site, by its path after that of the site. */
export const siteAddress = (siteId: string, page: string, query: Readonly<Record<string, string>> = {}): string =>
  addressOf(`/sites/${encodeURIComponent(siteId)}/${page}`, new URLSearchParams(query));

/** Where a person's page is. */
export const personAddress = (siteId: string, personId: string): string =>
  siteAddress(siteId, `people/${encodeURIComponent(personId)}`);

/** Where the way of an event is. */
export const eventAddress = (siteId: string, eventId: string): string =>
  siteAddress(siteId, `events/${encodeURIComponent(eventId)}`);
