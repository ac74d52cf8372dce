/** The first that a user agent names is meant: each of them names those after it as well. */
const PROGRAMS: readonly [pattern: RegExp, name: string][] = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const SYSTEMS: readonly [pattern: RegExp, name: string][] = [
  [/\b(?:iPhone|iPod)\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** What a user agent says of itself, in two words; itself where it says neither. */
export function deviceName(userAgent: string): string {
  if (userAgent === '') return 'Without a browser';
  const named = (list: typeof PROGRAMS): string[] =>
    list.filter(([pattern]) => pattern.test(userAgent)).map(([, name]) => name);
  const [program] = named(PROGRAMS);
  const [system] = named(SYSTEMS);
  if (program === undefined && system === undefined) return userAgent;
  return [program ?? 'Another program', ...(system === undefined ? [] : [`on ${system}`])].join(' ');
}
