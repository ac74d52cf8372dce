import { CLICK_MS, VALUE_CHARACTERS_MAX } from './limits.ts';

/** utm_source and its kind, which tell the campaign, with the ids that ad platforms add to the addresses of their ads, which tell the click. */
const ARRIVAL = /^(utm_\w+|(fb|g|d|tt|tw|y)clid|msclkid|[gw]braid|li_fat_id|epik|rdt_cid|sccid)$/i;

export type Parameters = Record<string, string>;

interface Moment {
  session: string;
  atMs: number;
  /** Whose it is. */
  visitor?: string | undefined;
}
/** How the visitor came last: in which session, when, and with which parameters. */
export interface Arrival extends Moment {
  parameters: Parameters;
}

const picked = (entries: Iterable<[string, string]>, isWanted: (name: string) => boolean): Parameters =>
  Object.fromEntries(
    [...entries].filter(([name, value]) => value && value.length < VALUE_CHARACTERS_MAX && isWanted(name)),
  );

/** The parameters of an address. Those that tell the campaign are written in any case. */
const queryOf = (search: string): URLSearchParams =>
  new URLSearchParams(search.replace(/utm_\w+=/gi, (name) => name.toLowerCase()));

/** The parameters that tell the campaign. */
export const campaignOf = (search: string): Parameters => picked(queryOf(search), (name) => !isClick(name));

const isClick = (name: string): boolean => !/^utm_\w+$/.test(name);

/** What holds for an event: a campaign in the session that it began, a click on an ad for 90 days where ads are allowed. */
export const holding = ({ session, atMs, parameters }: Arrival, now: Moment, ads: boolean): Parameters =>
  picked(Object.entries(parameters), (name) =>
    isClick(name) ? ads && now.atMs - atMs < CLICK_MS : session === now.session,
  );

/** The arrival as of now: the known one, unless the page's query says something that does not hold yet. */
export const arrivalAt = (known: Arrival, search: string, now: Moment, ads: boolean): Arrival => {
  const held = holding(known, now, ads);
  const said = picked(queryOf(search), (name) => ARRIVAL.test(name) && (ads || !isClick(name)));
  if (Object.keys(said).every((name) => said[name] === held[name])) return known;
  return { ...now, parameters: { ...picked(Object.entries(known.parameters), isClick), ...said } };
};
