/** Another browser than the one the tests find or bring: the path of a Chromium. */
export function chromiumChosen(): string | undefined {
  return process.env['SVC_CHROMIUM'] || undefined;
}

/** How often browser tests try to lose an event; each has a variable for the long run. */
interface Attempts {
  /** Tabs closed right after a purchase: BROWSER_CLOSES. */
  closes: number;
  /** Links followed right after a purchase: BROWSER_NAVIGATIONS. */
  navigations: number;
  /** Browsers killed a quarter of a second after a purchase: BROWSER_KILLS. */
  kills: number;
}

export function attempts(): Attempts {
  const count = (name: string, otherwise: number): number => Number(process.env[name] ?? otherwise);
  return {
    closes: count('BROWSER_CLOSES', 40),
    navigations: count('BROWSER_NAVIGATIONS', 15),
    kills: count('BROWSER_KILLS', 5),
  };
}

/** How long Live is kept open to see what it keeps in memory: LIVE_MINUTES. */
export function liveMinutes(): number {
  return Number(process.env['LIVE_MINUTES'] ?? 0.05);
}
