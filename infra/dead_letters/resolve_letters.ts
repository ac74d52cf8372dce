import { type LetterPlace, letterId } from '#pipelines/dead_letter_id.ts';
import type { MarkOutcome } from '#pipelines/letter_state.ts';
import { type MarksWorld, marksOf, readMarks, writeMarks } from './letter_marks.ts';
import { findLetters, type Letter } from './read_letters.ts';

interface ResolvingWorld extends MarksWorld {
  nowMs(): number;
}

/** Notes that somebody is done with letters, and why. */
export async function resolveLetters(
  world: ResolvingWorld,
  places: readonly LetterPlace[],
  note: string,
  by: string,
): Promise<Map<string, MarkOutcome>> {
  const found = await findLetters(world, places);
  await writeMarks(world, found, { note, changed_by: by, changed_at: world.nowMs(), resolved: true });
  return outcomesOf(places, found, () => 'resolved');
}

/** Makes letters open again. */
export async function reopenLetters(
  world: ResolvingWorld,
  places: readonly LetterPlace[],
  by: string,
): Promise<Map<string, MarkOutcome>> {
  const marks = await readMarks(world);
  const found = await findLetters(world, places);
  const isResolved = (one: Letter): boolean => marksOf(one, marks).resolution !== null;
  const mark = { note: '', changed_by: by, changed_at: world.nowMs(), resolved: false };
  await writeMarks(world, found.filter(isResolved), mark);
  return outcomesOf(places, found, (one) => (isResolved(one) ? 'reopened' : 'not_resolved'));
}

function outcomesOf(
  places: readonly LetterPlace[],
  found: readonly Letter[],
  outcomeOf: (letter: Letter) => MarkOutcome,
): Map<string, MarkOutcome> {
  const outcomes = new Map<string, MarkOutcome>(places.map((place) => [letterId(place), 'unknown']));
  for (const one of found) outcomes.set(one.id, outcomeOf(one));
  return outcomes;
}
