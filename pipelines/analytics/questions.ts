// Every kind of question about events, in the order of their documents. Routes, OpenAPI, permissions, formats
// and saved queries follow from this list; the dashboard says which page and which view each has (query_address.ts, saved_answer.tsx).
import type { Static } from 'typebox';
import { cohorts, members } from './cohorts/questions.ts';
import { form, promo, survey } from './engage_results.ts';
import { live, timeline } from './event_lists.ts';
import { correlation } from './funnels/correlation.ts';
import { funnel } from './funnels/sql.ts';
import { lifecycle } from './lifecycle.ts';
import { paths } from './paths.ts';
import { actors } from './people/sql.ts';
import { retention } from './retention.ts';
import { revenue } from './revenue/sql.ts';
import { stickiness } from './stickiness.ts';
import { top } from './top.ts';
import { trends } from './trends/sql.ts';
import { visits } from './visits/question.ts';

export const QUESTIONS = [
  funnel,
  correlation,
  trends,
  revenue,
  retention,
  stickiness,
  lifecycle,
  top,
  visits,
  live,
  timeline,
  survey,
  promo,
  form,
  actors,
  paths,
  cohorts,
  members,
] as const;

type AnyQuestion = (typeof QUESTIONS)[number];

/** What may be asked, and what is answered, by kind. */
export type Questions = {
  [One in AnyQuestion as One['kind']]: { query: Static<One['schema']>; answer: Static<One['answerSchema']> };
};
