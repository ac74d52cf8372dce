/**
 * How a date is written, in ISO 8601: `2026-03-31`, or with a time and a zone. Both JavaScript and RE2 read this pattern. Years
 * are those that ClickHouse's DateTime64 has.
 */
export const DATE_PATTERN =
  '^(?:19|2[0-2])[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])?)?$';
const DATE = new RegExp(DATE_PATTERN);
const DAY_LENGTH = 10;

/** A date in milliseconds since 1970; without a zone it is UTC, without a time midnight. NaN for what is no date. */
export function dateMs(text: string): number {
  if (!DATE.test(text) || !isDay(text.slice(0, DAY_LENGTH))) return Number.NaN;
  const written = text.replace(' ', 'T');
  return Date.parse(written.length === DAY_LENGTH || /(?:Z|[+-]..:..)$/.test(written) ? written : `${written}Z`);
}

/** JavaScript takes 30 February for 2 March. */
function isDay(day: string): boolean {
  return new Date(Date.parse(day)).toISOString().startsWith(day);
}
