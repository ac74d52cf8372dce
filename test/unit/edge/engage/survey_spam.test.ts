import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { open, SURVEY } from '#test/unit/engage/samples.ts';
import { openShopWindow, PAGE, type ShopWindow } from './shop_window.ts';
import { solutionOf } from './solution.ts';

let edge: ShopWindow;
beforeEach(async () => {
  edge = await openShopWindow();
  edge.define('survey', { ...SURVEY, questions: [...SURVEY.questions, open('why')] });
});
afterEach(() => edge.close());

function response(fields: object = {}) {
  const token = edge.token('survey', 'nps');
  const answers = [{ question_id: 'score', value: 0 }];
  return {
    ...{ survey_id: 'nps', version: 1, submission_id: randomUUID(), token, status: 'completed', answers, page: PAGE },
    ...fields,
  };
}

const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': address });
const respond = async (sent: object, address = '198.51.100.7') =>
  (await edge.post('/v1/surveys/respond', sent, from(address))).body;

it('of the answers of one address ten are taken, 50 more are asked for a proof each, and the rest are spam', async () => {
  const answers = [];
  for (let at = 0; at < 70; at += 1) answers.push(await respond(response()));
  expect(answers.slice(0, 10).every(({ accepted }) => accepted === 1)).toBe(true);
  expect(answers.slice(10, 60).every(({ challenge }) => challenge !== undefined)).toBe(true);
  expect(answers.slice(60)).toEqual(Array(10).fill({ accepted: 0 }));
  expect(edge.events()).toHaveLength(10);
  expect(await edge.metrics.text()).toContain(
    'svc_edge_engage_spam_total{kind="survey",reason="address_limit",stage="edge"} 10',
  );
});

it('an answer in doubt is taken with the proof that was asked for', async () => {
  for (let at = 0; at < 10; at += 1) await respond(response());
  const sent = response();
  const { challenge } = await respond(sent);
  expect(await respond({ ...sent, challenge: solutionOf(challenge) })).toMatchObject({ accepted: 1 });
  expect((await respond(response({ challenge: solutionOf(challenge) }))).accepted).toBe(0);
});

it('the same words of many addresses are asked for a proof', async () => {
  const answers = [{ question_id: 'why', value: 'These are the very same words as those of the others.' }];
  for (let at = 0; at < 5; at += 1) expect((await respond(response({ answers }), `198.51.100.${at}`)).accepted).toBe(1);
  expect((await respond(response({ answers }), '198.51.100.9')).challenge).toBeTypeOf('object');
});

it.each(['partial', 'completed'])('a %s answer within a second of the token is asked for a proof', async (status) => {
  const sent = response({ status, token: edge.token('survey', 'nps', { agoMs: 900 }) });
  const { accepted, challenge } = await respond(sent);
  expect([accepted, challenge]).toEqual([0, expect.any(Object)]);
  expect(await respond({ ...sent, challenge: solutionOf(challenge) })).toMatchObject({ accepted: 1 });
  expect(edge.events()).toHaveLength(1);
});

it('an answer that seems to come before its token, as this edge’s clock is behind, is taken with a proof', async () => {
  const sent = response({ token: edge.token('survey', 'nps', { agoMs: -5_000 }) });
  const { challenge } = await respond(sent);
  expect(await respond({ ...sent, challenge: solutionOf(challenge) })).toMatchObject({ accepted: 1 });
});

it('answers that come too fast count among the others of their address', async () => {
  const fast = () => response({ token: edge.token('survey', 'nps', { agoMs: 10 }) });
  for (let at = 0; at < 60; at += 1) expect((await respond(fast())).challenge).toBeTypeOf('object');
  expect(await respond(fast())).toEqual({ accepted: 0 });
});

it('that it was shown is taken at once, and uses up nothing', async () => {
  const token = edge.token('survey', 'nps', { agoMs: 10 });
  expect((await respond(response({ status: 'shown', token }))).accepted).toBe(1);
  for (let at = 0; at < 15; at += 1) await respond(response({ status: 'shown' }));
  expect((await respond(response())).accepted).toBe(1);
});

it('answers of one submission count once, and those that are not right do not', async () => {
  const wrong = [{ question_id: 'score', value: 99 }];
  for (let at = 0; at < 15; at += 1) await respond(response({ answers: wrong }));
  const sent = response();
  for (let at = 0; at < 15; at += 1) expect((await respond(sent)).accepted).toBe(1);
  expect((await respond(response())).accepted).toBe(1);
});
