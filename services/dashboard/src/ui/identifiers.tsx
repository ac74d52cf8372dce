import { Button, IconButton } from './button.tsx';
// Ids and secrets as pages show them: as links, shortened, to copy, and what is shown once.

import type { ComponentChildren } from 'preact';
import { OUR_NAMES } from '#pipelines/analytics/event_names.ts';
import { addressOf } from '../router.ts';
import { mayAt } from '../session.ts';
import { Dialog, toast, useLoss } from './dialog.tsx';

/** The address of a page of a site, by its path after that of the site. */
export const siteAddress = (siteId: string, page: string, query: Readonly<Record<string, string>> = {}): string =>
  addressOf(`/sites/${encodeURIComponent(siteId)}/${page}`, new URLSearchParams(query));

export const personAddress = (siteId: string, personId: string): string =>
  siteAddress(siteId, `people/${encodeURIComponent(personId)}`);

export const eventAddress = (siteId: string, eventId: string): string =>
  siteAddress(siteId, `events/${encodeURIComponent(eventId)}`);

interface LinkWhereProps {
  /** Whether whoever looks may see what is there. */
  isAllowed: boolean;
  href: string;
  children: ComponentChildren;
}

/** A link for those who may follow it, and the same words for the others. */
export const LinkWhere = ({ isAllowed, href, children }: LinkWhereProps) =>
  isAllowed ? <a href={href}>{children}</a> : <span>{children}</span>;

interface EventLinkProps {
  siteId: string;
  eventId: string;
  children: ComponentChildren;
}

/** A link to what became of an event; only its text for who may not see single events of the site. */
export const EventLink = ({ siteId, eventId, children }: EventLinkProps) => (
  <LinkWhere isAllowed={mayAt('query.events', siteId)} href={eventAddress(siteId, eventId)}>
    {children}
  </LinkWhere>
);

/** The name under which questions count an event that was sent under another; nothing where it is the same. */
export function CanonicalName({ event }: { event: string }) {
  const name = OUR_NAMES.get(event);
  return name === undefined ? null : <span class="muted small"> counted as {name}</span>;
}

const BEGIN = 8;
const END = 6;

/** An id without its middle, which tells nobody anything; its title has all of it. */
export function ShortId({ id }: { id: string }) {
  const isShort = id.length <= BEGIN + END + 1;
  return (
    <span class="mono" title={id}>
      {isShort ? id : `${id.slice(0, BEGIN)}…${id.slice(-END)}`}
    </span>
  );
}

/** Copies a text. `what` names it: "Copy event id". */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => toast(`Copied the ${what}`),
      () => toast('The browser blocked copying', 'bad'),
    );
  };
  return <IconButton icon="copy" label={`Copy ${what}`} onClick={copy} />;
}

/** What was issued, to be copied. `what` names it: "key". */
function OneTimeSecret({ secret, what, isPublic }: { secret: string; what: string; isPublic: boolean }) {
  useLoss(!isPublic);
  return (
    <div class="stack">
      <p>
        {isPublic
          ? `The ${what} is public, as part of your pages, and stays readable here.`
          : `Copy the ${what} now. It cannot be shown again.`}
      </p>
      <div class="secret">
        <code>{secret}</code>
        <CopyButton text={secret} what={what} />
      </div>
    </div>
  );
}

interface IssuedSecretProps {
  secret: string;
  /** What it is: "key". */
  what: string;
  /** It can be read again. */
  isPublic?: boolean;
  /** In place of "The key was issued". */
  title?: string;
  onClose(): void;
  /** What else there is to know. */
  children?: ComponentChildren;
}

/** The dialog in which a secret that was just issued is shown; only its button closes it. */
export function IssuedSecret(props: IssuedSecretProps) {
  const { secret, what, isPublic = false, title = `The ${what} was issued`, onClose, children } = props;
  return (
    <Dialog title={title} staysOpen onClose={onClose}>
      <OneTimeSecret secret={secret} what={what} isPublic={isPublic} />
      {children}
      <div class="actions">
        <Button kind="primary" label="I have copied it" onClick={onClose} />
      </div>
    </Dialog>
  );
}
