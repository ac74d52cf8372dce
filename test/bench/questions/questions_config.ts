const whole = (name: string, otherwise: number): number => {
  const value = Number(process.env[name] ?? otherwise);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`${name} must be a whole number`);
  return value;
};

/** How many events the site has. */
export const EVENTS = whole('QUESTIONS_EVENTS', 5_000_000);

/** How many days, the last ones of the year, the questions are about. */
export const DAYS = whole('QUESTIONS_DAYS', 30);

/** A folder that is filled once and asked again; none: one for this run. */
export const FOLDER = process.env['QUESTIONS_DIR'] ?? null;

/** Which questions are asked, by a pattern of their names; none: all, and the neighbour's. */
export const ONLY = process.env['QUESTIONS_ONLY'] ?? null;
