/** The first that a user agent names is meant: each of them names those after it as well. */
const BROWSERS: readonly [pattern: RegExp, name: string][] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/\bChrom(?:e|ium)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/\bcurl\//, 'curl'],
];
const SYSTEMS: readonly [pattern: RegExp, name: string][] = [
  [/\biPhone|iPad\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** What a session began in, in our own words: nothing of the user agent itself is kept. */
export function browserName(userAgent: string | undefined): string {
  const agent = userAgent ?? '';
  const named = (list: typeof BROWSERS): string | undefined => list.find(([pattern]) => pattern.test(agent))?.[1];
  const system = named(SYSTEMS);
  return `${named(BROWSERS) ?? 'Another program'}${system === undefined ? '' : ` on ${system}`}`;
}
