import type { Interval } from '#pipelines/query/shapes.ts';
import type { Binder } from './statement.ts';

/** Weeks begin on Monday, as in ISO 8601. */
const STARTS: Record<Interval, (time: string, zone: string) => string> = {
  hour: (time, zone) => `toStartOfHour(${time}, ${zone})`,
  day: (time, zone) => `toStartOfDay(${time}, ${zone})`,
  week: (time, zone) => `toDateTime(toStartOfWeek(${time}, 1, ${zone}), ${zone})`,
  month: (time, zone) => `toDateTime(toStartOfMonth(${time}, ${zone}), ${zone})`,
};

/** The start of the interval that a time lies in, in milliseconds since 1970 UTC. */
export function startOf(interval: Interval, time: string, timeZone: string, binder: Binder): string {
  return `toUnixTimestamp(${STARTS[interval](time, binder.bind(timeZone, 'String'))}) * 1000`;
}
