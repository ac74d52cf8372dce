import { randomUUID } from 'node:crypto';

/** In the place of a site: the query is about all of them. */
export const ALL_SITES = '*';

/** What a running query is called: its id in ClickHouse says whose it is to every process that looks. */
export interface QueryName {
  /** Or ALL_SITES. */
  siteId: string;
  /** `funnel`, `sql`, ... */
  kind: string;
  /** Label of who asked. */
  askedBy: string;
  /** A UUID. */
  id: string;
}

/** Who asks. */
export interface Asker {
  label: string;
  /** Aborted when nobody waits for the answer any more. */
  signal: AbortSignal;
}

/** The id of a new query. It begins with the site and a colon, by which rights of SQL go; sites and kinds have no colon. */
export const newQueryId = ({ siteId, kind, askedBy }: Omit<QueryName, 'id'>): string =>
  [siteId, kind, Buffer.from(askedBy).toString('base64url'), randomUUID()].join(':');

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whose query an id of ClickHouse is of; null: not one of ours. */
export function readQueryId(text: string): QueryName | null {
  const [siteId = '', kind = '', askedBy, id = '', ...more] = text.split(':');
  if (askedBy === undefined || more.length > 0 || siteId === '' || kind === '' || !UUID.test(id)) return null;
  return { siteId, kind, askedBy: Buffer.from(askedBy, 'base64url').toString('utf8'), id };
}
