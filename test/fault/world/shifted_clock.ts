/**
 * Loaded before a process, has it live days from now: `--import file:…/shifted_clock.ts?days=9`. Clocks that only go forward stay
 * as they are.
 */
const DAY_MS = 86_400_000;
const shiftMs = Number(new URL(import.meta.url).searchParams.get('days')) * DAY_MS;
const Sound = Date;

globalThis.Date = new Proxy(Sound, {
  construct: (target, words, made) =>
    Reflect.construct(target, words.length === 0 ? [target.now() + shiftMs] : words, made),
  get: (target, name, receiver) =>
    name === 'now' ? () => target.now() + shiftMs : Reflect.get(target, name, receiver),
});
