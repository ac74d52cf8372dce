/** Days on which weeks may begin. */
export const WEEK_STARTS = ['monday', 'saturday', 'sunday'] as const;

/** By which days and weeks time is counted. */
export interface Calendar {
  /** IANA name. */
  timeZone: string;
  weekStart: (typeof WEEK_STARTS)[number];
}

/** What a site, or a query, says of its calendar; a newer service may know other days. */
export interface SaysCalendar {
  time_zone?: string | null;
  week_start?: string | null;
}

export const calendarOf = ({ time_zone, week_start }: SaysCalendar): Calendar => ({
  timeZone: time_zone ?? 'UTC',
  weekStart: WEEK_STARTS.find((day) => day === week_start) ?? 'monday',
});

/**
 * Whether a zone is known by its IANA name, written as the database of zones writes it: ClickHouse takes it in no other case,
 * and no offset such as +01:00.
 */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Z]/.test(name)) return false;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    // An alias is answered by another name.
    return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase();
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

const formats = new Map<string, Intl.DateTimeFormat>();
/** Sites have few zones; made again where there are many, as one takes a tenth of a millisecond. */
const FORMATS_MAX = 200;

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  if (formats.size >= FORMATS_MAX) formats.clear();
  const parts = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const;
  const format = new Intl.DateTimeFormat('en-US', { ...parts, second: 'numeric', hourCycle: 'h23', timeZone });
  formats.set(timeZone, format);
  return format;
}

/** What the clocks of a zone show at a time, as if they showed UTC, in milliseconds since 1970. */
export function wallMs(timeMs: number, timeZone: string): number {
  const parts = formatOf(timeZone).formatToParts(timeMs);
  const of = (type: string): number => Number(parts.find((part) => part.type === type)?.value);
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'));
}
