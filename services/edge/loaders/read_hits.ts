import type { HttpRequestIn } from '#infra/http/http_server.ts';
import { isObject } from '#pipelines/intake/compat/foreign.ts';
import { eventsOfHits } from '#pipelines/intake/ga4/hit_event.ts';
import { HIT_KEYS_MAX } from '#pipelines/intake/ga4/hits.ts';
import { eventOfMetaHit, metaPixelOf } from '#pipelines/intake/pixels/meta_hit.ts';
import { eventOfTiktokHit, tiktokPixelOf } from '#pipelines/intake/pixels/tiktok_hit.ts';
import { metaPixels, vendorIds } from '#pipelines/settings/site_config.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import type { ApiKey, Site } from '#schemas/setting.ts';
import { parseJson } from '../decode.ts';
import type { EdgeErrorCode } from '../errors.ts';
import { sentHits } from '../ga4/sent_hits.ts';
import { isMultipart, readMultipart } from '../multipart_form.ts';
import { sentBody } from '../sent_request.ts';
import type { CollectorPath } from './collector_paths.ts';

/** Whose hits are read, and what of them is not in the request. */
interface HitsOf {
  table: SettingsTable;
  site: Site;
  key: ApiKey;
  visitor: string | null;
  secret: Buffer;
}

/** The events of a request, in the form POST /v1/ingest takes them; or why they cannot be read. */
type HitsRead = { ok: true; events: unknown[] } | { ok: false; code: EdgeErrorCode };

type ReadHits = (request: HttpRequestIn, of: HitsOf) => Promise<HitsRead>;

/** How the hits of each collector are read; those of somebody else's pixel are refused. */
export const READERS: Readonly<Record<CollectorPath, ReadHits>> = {
  '/a/c': readGa4,
  '/s/p': readMeta,
  '/t/e': readTiktok,
};

async function readGa4(request: HttpRequestIn, { table, site, key, secret }: HitsOf): Promise<HitsRead> {
  const body = sentBody(request);
  const read = body.ok ? sentHits(request, body.value.toString('utf8')) : body;
  if (!read.ok) return read;
  const own = table.destination(site.site_id, 'ga4')?.settings['measurement_id'];
  const isOwn = own !== undefined && read.hits.every(({ fields }) => fields.get('tid') === own);
  return isOwn ? { ok: true, events: eventsOfHits(read.hits, { caller: key.caller, secret }) } : NOT_OURS;
}

async function readMeta(request: HttpRequestIn, { table, site, visitor, secret }: HitsOf): Promise<HitsRead> {
  const text = await formText(request);
  const read = text.ok ? sentHits(request, text.value) : text;
  if (!read.ok) return read;
  const own = metaPixels(vendorIds(table, site));
  const isOwn = read.hits.every((hit) => own.includes(metaPixelOf(hit)));
  return isOwn ? { ok: true, events: read.hits.map((hit) => eventOfMetaHit(hit, { visitor, secret })) } : NOT_OURS;
}

async function readTiktok(request: HttpRequestIn, { table, site, visitor, secret }: HitsOf): Promise<HitsRead> {
  const body = sentBody(request);
  const read = body.ok ? parseJson(body.value) : body;
  if (!read.ok) return read;
  const own = vendorIds(table, site).tiktok?.pixel_code;
  if (!isObject(read.value) || own === undefined || tiktokPixelOf(read.value) !== own) return NOT_OURS;
  return { ok: true, events: [eventOfTiktokHit(read.value, { visitor, secret })] };
}

const NOT_OURS = { ok: false, code: 'pixel_unknown' } as const;

type Text = { ok: true; value: string } | { ok: false; code: EdgeErrorCode };

/** Meta's pixel sends a form: in the query, in a body of the same form, or by beacon as `multipart/form-data`. */
async function formText(request: HttpRequestIn): Promise<Text> {
  const body = sentBody(request);
  if (!body.ok) return body;
  const type = request.headers['content-type'] ?? '';
  if (!isMultipart(type)) return { ok: true, value: body.value.toString('utf8') };
  const read = await readMultipart(body.value, type, HIT_KEYS_MAX);
  if (read.ok) return { ok: true, value: new URLSearchParams(read.fields).toString() };
  return { ok: false, code: read.reason === 'too_many' ? 'hit_too_large' : 'request_malformed' };
}
