import type { JsonObject } from '#pipelines/privacy/clean_properties.ts';
import type { Effort } from '#pipelines/privacy/effort.ts';
import { isNobodysId, isPlaceholderId } from '#pipelines/privacy/placeholder_id.ts';
import { readActionSource } from './action_source.ts';
import { eventCountries, idCountries } from './event_countries.ts';
import { readUuid } from './event_id.ts';
import { readEventName } from './event_name.ts';
import type { IntakeContext, SentEvent } from './intake_types.ts';
import { isBrowsersOwn, readPreviousId } from './previous_id.ts';
import type { RejectionCode } from './rejections.ts';
import { readShortText } from './short_text.ts';
import { readTimestamp, writtenTime } from './timestamp.ts';

export type SentEventOutcome = { ok: true; event: SentEvent } | { ok: false; code: RejectionCode };

/**
 * Checks the fields of an event (SPEC 2.1); unknown fields are ignored.
 *
 * @param known Countries that are known of the request.
 */
export function readSentEvent(
  sent: unknown,
  context: IntakeContext,
  known: readonly string[],
  effort?: Effort,
): SentEventOutcome {
  if (!isObject(sent)) return refuse('event_not_object');
  const name = readEventName(sent['event']);
  if (!name.ok) return name;
  const countries = isObject(sent['properties']) ? eventCountries(sent['properties'], known) : known;
  const isUuidAbsent = isAbsent(sent['uuid']) || isPlaceholderText(sent['uuid']);
  const uuid = isUuidAbsent
    ? null
    : readUuid(sent['uuid'], context.identitySecret, idCountries(context.site), effort, context.isOfShowings);
  if (uuid === null && !isUuidAbsent) return refuse('uuid_invalid');
  const distinctId = isAbsent(sent['distinct_id']) ? null : readShortText(sent['distinct_id']);
  if (distinctId === null && !isAbsent(sent['distinct_id'])) return refuse('distinct_id_invalid');
  const time = readTimestamp(sent['timestamp'], context, sentAtOf(sent, context));
  if (!time.ok) return time;
  const properties = isAbsent(sent['properties']) ? {} : sent['properties'];
  if (!isObject(properties)) return refuse('properties_not_object');
  const source = readActionSource(properties, context.caller);
  if (source === null) return refuse('action_source_unknown');
  const { timestamp, original: originalTimestamp, warning: timeWarning } = time;
  const sentTimestamp = timeWarning === 'timestamp_invalid' ? null : writtenTime(sent['timestamp']);
  const { actionSource, isStated: isSourceStated } = source;
  const visitor = visitorIds(name.name, distinctId, properties);
  const hasPlaceholder = visitor.hasPlaceholder || (isUuidAbsent && !isAbsent(sent['uuid']));
  const ids = { name: name.name, uuid, ...visitor, hasPlaceholder };
  const times = { timestamp, originalTimestamp, timeWarning, sentTimestamp };
  return { ok: true, event: { ...ids, ...times, actionSource, isSourceStated, properties, countries } };
}

/**
 * The ids that say something. Where the visitor's own is a placeholder it is as if none had been sent, and the browser's
 * id beside it stands for the visitor.
 */
function visitorIds(
  name: string,
  sent: string | null,
  properties: JsonObject,
): Pick<SentEvent, 'distinctId' | 'previousId' | 'hasPlaceholder'> {
  const sentPrevious = readPreviousId(name, properties);
  const isPlaceholder = sent !== null && isPlaceholderId(sent);
  const hasPlaceholder = isPlaceholder || (sentPrevious !== null && isPlaceholderId(sentPrevious));
  const previous = sentPrevious === null || isNobodysId(sentPrevious) ? null : sentPrevious;
  if (isPlaceholder && isBrowsersOwn(name)) return { distinctId: previous, previousId: null, hasPlaceholder };
  const distinctId = sent === null || isNobodysId(sent) ? null : sent;
  const previousId = distinctId === null || previous === distinctId ? null : previous;
  return { distinctId, previousId, hasPlaceholder };
}

/** An id of an event that many have would leave the first of them alone: it is as if none had been sent. */
function isPlaceholderText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && isPlaceholderId(value);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Of another product's call its own word, which was put there with the call (`clockOf`); of ours that of the request. */
function sentAtOf(sent: JsonObject, { isForeign = false, sentAtMs = null }: IntakeContext): number | null {
  if (!isForeign) return sentAtMs;
  return typeof sent['sent_at'] === 'number' ? sent['sent_at'] : null;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function refuse(code: RejectionCode): SentEventOutcome {
  return { ok: false, code };
}
