/** What a tag counts itself and reports once a day, in an event of its own. */
export type Reported = 'retried' | 'dropped' | 'rejected' | 'blocked';
const REPORT_EVENT = '$tag_health';

/** What an accepted event says of the tag that sent it. */
export interface Signs {
  /** Host and path of the page, without its query; null where the event names none. */
  page: string | null;
  /** The event definition that fired it, as the event says. */
  definition: string | null;
  /** What the tag reports of itself; null for any other event. */
  reported: Record<Reported, number> | null;
}

const PAGE_CHARACTERS_MAX = 200;
const PAGE_URL = /"\$current_url":"((?:[^"\\]|\\.)*)"/;
const DEFINITION = /"\$definition_id":"((?:[^"\\]|\\.)*)"/;

/**
 * Reads the signs from the text of an event's properties, which is cleaned of personal data already. The text is searched
 * and not parsed: this happens for every event of every browser. In JSON a quote inside a text is escaped, so that
 * nothing somebody wrote can pass for a name.
 */
export function signsOf(event: string, properties: string): Signs {
  return {
    page: pageOf(textAt(PAGE_URL, properties)),
    definition: properties.includes('"$definition_id"') ? textAt(DEFINITION, properties) : null,
    reported: event === REPORT_EVENT ? reportedIn(properties) : null,
  };
}

function textAt(pattern: RegExp, json: string): string | null {
  const found = pattern.exec(json)?.[1];
  return found === undefined ? null : (JSON.parse(`"${found}"`) as string);
}

function pageOf(address: string | null): string | null {
  const url = address === null ? null : URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return (url.host + url.pathname).slice(0, PAGE_CHARACTERS_MAX);
}

function reportedIn(properties: string): Record<Reported, number> {
  const given = JSON.parse(properties) as Record<string, unknown>;
  const countOf = (name: Reported): number => {
    const count = given[name];
    return Number.isSafeInteger(count) && (count as number) > 0 ? Math.min(count as number, REPORTED_MAX) : 0;
  };
  return {
    retried: countOf('retried'),
    dropped: countOf('dropped'),
    rejected: countOf('rejected'),
    blocked: countOf('blocked'),
  };
}

/** A browser can count no more in a day. */
const REPORTED_MAX = 1_000_000;
