/** How many worlds of how many events: `WORLDS=20 WORLD_EVENTS=100000` for the long run. */
export const WORLDS = Number(process.env['WORLDS'] ?? 3);
export const WORLD_EVENTS = Number(process.env['WORLD_EVENTS'] ?? 5_000);
/** Questions of each kind that a world is asked. */
export const QUESTIONS = Number(process.env['WORLD_QUESTIONS'] ?? 20);
/** The same where each question brings others: each part of its chart is asked for its actors. */
export const CHART_QUESTIONS = Number(process.env['WORLD_QUESTIONS'] ?? 8);
