import type { Static } from 'typebox';
import { holdsPersonalText } from '#pipelines/privacy/redact_text.ts';
import { unless } from '#pipelines/settings/problem.ts';
import { reopenBody, resolveBody, resolveShape } from '#services/control_api/dead_letter_shapes.ts';
import { nothing } from '#services/control_api/fields.ts';
import { changed, READING_ERRORS } from './dead_letters.ts';
import { done, type Route, refused, route } from './route.ts';
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
    async gather({ body }, sources) {
      const { ids, note: sent } = body as Resolving;
      const note = sent.trim();
      const problems = unless(!isPersonal(note), 'personal_text', 'note', 'holds an e-mail address or a phone number');
      if (problems.length > 0) return refused('settings_invalid', problems);
      return changed(ids, sources, {
        noted: (resolve) => ({ resolve, note }),
        change: (own, { principal }) => sources.letters.resolve(own, note, principal.actor),
      });
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
    gather: ({ body }, sources) =>
      changed((body as Reopening).ids, sources, {
        noted: (reopen) => ({ reopen }),
        change: (own, { principal }) => sources.letters.reopen(own, principal.actor),
      }),
  }),
];

const isPersonal = (note: string): boolean => holdsPersonalText(note);
