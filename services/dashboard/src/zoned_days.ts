const clocks = new Map<string, Intl.DateTimeFormat>();

/** When a day begins in a zone; one beyond the month's last is of the next month, and months likewise of the next year. */
export function dayStart(timeZone: string, year: number, month: number, day: number): number {
  const wanted = Date.UTC(year, month, day);
  const nearly = wanted - offsetAt(wanted, timeZone);
  // Clocks may have been changed between the two.
  return wanted - offsetAt(nearly, timeZone);
}

/** The year, month (from 0) and day that a calendar in a zone shows at a moment. */
export function dayIn(timeZone: string, ms: number): [year: number, month: number, day: number] {
  const shown = new Date(ms + offsetAt(ms, timeZone));
  return [shown.getUTCFullYear(), shown.getUTCMonth(), shown.getUTCDate()];
}

/** By how much clocks in a zone are ahead of UTC at a moment. */
function offsetAt(ms: number, timeZone: string): number {
  const known = clocks.get(timeZone) ?? clockOf(timeZone);
  clocks.set(timeZone, known);
  const shown = new Map(known.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes): number => shown.get(type) ?? 0;
  const clock = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  return clock - Math.floor(ms / 1000) * 1000;
}

function clockOf(timeZone: string): Intl.DateTimeFormat {
  const day = { year: 'numeric', month: 'numeric', day: 'numeric' } as const;
  const time = { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const;
  return new Intl.DateTimeFormat('en-GB', { ...day, ...time, timeZone });
}
