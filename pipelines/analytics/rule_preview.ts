// What a destination's rules make of stored events: shown before they are saved.

import type { Adapter } from '#pipelines/delivery/contract.ts';
import { decide } from '#pipelines/delivery/deliver.ts';
import { defaultsOf } from '#pipelines/delivery/setting_fields.ts';
import { IDENTIFIER_VARIANTS, type Identifier, noIdentifiers } from '#pipelines/privacy/hash_identifiers.ts';
import type { EventRow } from '#pipelines/warehouse/block.ts';
import type { ActionSource, EventEntry, SiteMode } from '#schemas/event.ts';
import type { DestinationRule, Site } from '#schemas/setting.ts';
import { EVENT } from './sql/event_rows.ts';
import { createBinder, type Statement } from './sql/statement.ts';

const IDENTIFIERS = Object.keys(IDENTIFIER_VARIANTS) as Identifier[];

/** A stored event; of identifiers only whether there are any, 1 or 0. */
export interface PreviewRow extends Record<Identifier, number>, Pick<EventRow, StoredColumn> {
  received: number;
  happened: number;
}

type StoredColumn =
  | ('event_id' | 'event' | 'mode' | 'historical' | 'action_source' | 'client_ip' | 'client_user_agent')
  | ('city' | 'state' | 'zip' | 'country' | 'value' | 'currency' | 'order_id' | 'properties');

/** Larger events are left out, so that a preview holds up nothing else. */
const PROPERTIES_BYTES_MAX = 32_768;

/** The statement of a site's newest events since a time, in milliseconds since 1970 UTC, the newest first. Rows: PreviewRow. */
export function previewStatement(siteId: string, sinceMs: number, limit: number): Statement {
  const binder = createBinder();
  const wanted = `site_id = ${binder.bind(siteId, 'String')} AND received_at > ${binder.time(sinceMs)}
  AND length(properties) <= ${PROPERTIES_BYTES_MAX}`;
  return binder.statement(`SELECT sent_id AS event_id, event, toUnixTimestamp64Milli(received_at) AS received,
  toUnixTimestamp64Milli(timestamp) AS happened, mode, historical, action_source, city, state, zip, country, client_ip, client_user_agent,
  email_sha256 != '' AS email, phone_hmac != '' AS phone, first_name_sha256 != '' AS first_name,
  last_name_sha256 != '' AS last_name, external_id_sha256 != '' AS external_id, value, currency, order_id, properties
FROM event_rows WHERE ${wanted}
ORDER BY received_at DESC, raw_index DESC, sent_id LIMIT 1 BY ${EVENT} LIMIT ${limit}`);
}

/** What is shown of one event. */
export interface PreviewedEvent {
  event_id: string;
  event: string;
  received_at: number;
  /** Place of the rule that decided, from 0; null where none is for it. */
  rule: number | null;
  /** The name it is sent under; null where it is not. */
  sent_as: string | null;
  /** Why it is not sent; else empty. */
  skipped: string;
  /** Paths of properties that are not sent. */
  dropped: string[];
}

/** @param target the destination, with the settings that it has and the rules that it might have. */
export function previewOf(
  target: { adapter: Adapter; id: string; settings: Record<string, string>; rules: readonly DestinationRule[] },
  site: Site,
  row: PreviewRow,
  nowMs: number,
): PreviewedEvent {
  const { event_id, event, received: received_at } = row;
  const settings = { ...defaultsOf(target.adapter.schema), ...target.settings };
  const decision = decide({ ...target, settings }, site, entryOf(site.site_id, row), nowMs);
  const rule = decision.rule === null ? null : target.rules.indexOf(decision.rule);
  const shown = { event_id, event, received_at, rule };
  return decision.kind === 'skip'
    ? { ...shown, sent_as: null, skipped: decision.reason, dropped: [] }
    : { ...shown, sent_as: decision.entry.event.event, skipped: '', dropped: decision.dropped };
}

const orNull = (text: string): string | null => (text === '' ? null : text);

function entryOf(siteId: string, row: PreviewRow): EventEntry {
  const { event_id, event, happened, received, properties, value } = row;
  const known = IDENTIFIERS.flatMap((name) => (row[name] === 1 ? [[name, name]] : []));
  return {
    coordinate: null,
    person: null,
    event: {
      ...{ site_id: siteId, event_id, event, distinct_id: '', received_at: received, timestamp: happened },
      ...{ original_timestamp: null, caller: 'server', identify: false, previous_distinct_id: null },
      mode: row.mode as SiteMode,
      historical: row.historical,
      action_source: row.action_source as ActionSource,
      identifiers: { ...noIdentifiers(), ...Object.fromEntries(known) },
      ...{ city: orNull(row.city), state: orNull(row.state), zip: orNull(row.zip), country: orNull(row.country) },
      ...{ client_ip: orNull(row.client_ip), client_user_agent: orNull(row.client_user_agent) },
      ...{ value, currency: orNull(row.currency), order_id: orNull(row.order_id), properties },
    },
  };
}
