import { readShortText } from '#pipelines/intake/short_text.ts';
import { readTimestamp, type TimedRequest } from '#pipelines/intake/timestamp.ts';
import { type Circumstances, visitorId } from './engage_event.ts';

/**
 * The field for which the event of a request would be refused, by its name; null: for none. Known before anything is counted,
 * so that what is refused uses up nothing.
 */
export function circumstancesProblem(sent: Circumstances, request: TimedRequest): string | null {
  if (!readTimestamp(sent.timestamp, request).ok) return 'timestamp';
  const distinctId = visitorId(sent.visitor);
  return distinctId !== undefined && readShortText(distinctId) === null ? 'visitor.distinct_id' : null;
}
