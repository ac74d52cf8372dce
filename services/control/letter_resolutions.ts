import type { Static } from 'typebox';
import { type LetterPlace, letterId, parseLetterId } from '#pipelines/dead_letter_id.ts';
import type { MarkOutcome } from '#pipelines/letter_state.ts';
import { holdsPersonalText } from '#pipelines/privacy/redact_text.ts';
import { unless } from '#pipelines/settings/problem.ts';
import { reopenBody, resolveBody, resolveShape } from '#services/control_api/dead_letter_shapes.ts';
import { nothing } from '#services/control_api/fields.ts';
import { changeable, READING_ERRORS } from './dead_letters.ts';
import { done, type GatheredAnswer, type Route, refused, route, type Sources } from './route.ts';
import { ofListed } from './route_access.ts';

const tag = 'Dead letters';
const base = '/v1/admin/dead-letters';

type Resolving = Static<typeof resolveBody>;
type Reopening = Static<typeof reopenBody>;

export const letterResolutionRoutes: Route[] = [
  route({
    method: 'POST',
    path: `${base}/resolve`,
    operationId: 'resolveDeadLetters',
    access: ofListed('dead_letters.change'),
    tag,
    summary: 'Note why nothing more is to be done about dead letters of any stage, so that they are open no more',
    params: nothing,
    query: nothing,
    body: resolveBody,
    ifMatch: 'none',
    success: { status: 200, schema: resolveShape, description: 'What became of each' },
    errors: [...READING_ERRORS, 'settings_not_stored'],
    run: () => done([], () => ({ body: {} })),
    noted({ body }) {
      const { ids, note } = body as Resolving;
      return isPersonal(note) ? null : { about: 'dead_letters', with: { resolve: ids, note: note.trim() } };
    },
    async gather({ body }, sources) {
      const { ids, note } = body as Resolving;
      const problems = unless(!isPersonal(note), 'personal_text', 'note', 'holds an e-mail address or a phone number');
      if (problems.length > 0) return refused('settings_invalid', problems);
      return marked(ids, sources, (own, by) => sources.letters.resolve(own, note.trim(), by));
    },
  }),
  route({
    method: 'POST',
    path: `${base}/reopen`,
    operationId: 'reopenDeadLetters',
    access: ofListed('dead_letters.change'),
    tag,
    summary: 'Make dead letters open again with which somebody was done',
    params: nothing,
    query: nothing,
    body: reopenBody,
    ifMatch: 'none',
    success: { status: 200, schema: resolveShape, description: 'What became of each' },
    errors: [...READING_ERRORS, 'settings_not_stored'],
    run: () => done([], () => ({ body: {} })),
    noted: ({ body }) => ({ about: 'dead_letters', with: { reopen: (body as Reopening).ids } }),
    gather: ({ body }, sources) =>
      marked((body as Reopening).ids, sources, (own, by) => sources.letters.reopen(own, by)),
  }),
];

const isPersonal = (note: string): boolean => holdsPersonalText(note);

/** Marks those that who asks may change, and answers what became of each that was named. */
async function marked(
  ids: readonly string[],
  sources: Sources,
  mark: (own: readonly LetterPlace[], by: string) => Promise<Map<string, MarkOutcome>>,
): Promise<GatheredAnswer> {
  const places = ids.flatMap((id) => parseLetterId(id) ?? []);
  const found = await changeable(places, sources);
  if ('kind' in found) return found;
  const { own, world } = found;
  const outcomes = own.length === 0 ? new Map<string, MarkOutcome>() : await mark(own, world.principal.actor);
  const items = [...new Set(places.map(letterId))].map((id) => ({ id, outcome: outcomes.get(id) ?? 'unknown' }));
  return { kind: 'answered', body: { items } };
}
