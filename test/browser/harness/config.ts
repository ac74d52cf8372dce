/** Another browser than the one the tests find or bring: the path of a Chromium. */
export function chromiumChosen(): string | undefined {
  return process.env['SVC_CHROMIUM'] || undefined;
}
