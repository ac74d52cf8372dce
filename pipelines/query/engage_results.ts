import { type Static, Type } from 'typebox';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import { AMOUNT_UNITS } from './amounts.ts';
import { type Scope, scopeOf } from './scope.ts';
import type { EngageQuery } from './shapes.ts';

const VALUES = 50;

/** What one submission or impression says, counted. `name` is a status or a question, by the section. */
export interface EngageRow {
  section: 'status' | 'converted' | 'question' | 'answer' | 'nps' | 'source';
  name: string;
  text: string;
  /** 1: the text is a number. */
  is_number: number;
  times: number;
  persons: number;
  /** What it brought in: currency and units of amount, by currency. */
  amounts: [currency: string, units: string][];
  /** Different texts of the name, and all their times. */
  texts: number;
  all_times: number;
  /** Of the name's texts that are numbers, how often they came, and their sum. */
  numbers: number;
  total: number;
}

/** Results with everything decided that their question leaves open. */
export interface EngagePlan extends Scope {
  kind: EngageKind;
  id: string;
  limit: number;
}

export const engagePlan =
  (kind: EngageKind) =>
  (query: EngageQuery): EngagePlan => ({ ...scopeOf(query), kind, id: query.id, limit: query.limit ?? VALUES });

const reached = Type.Object({
  times: Type.Integer({ minimum: 0, description: 'Showings: each counts once, however often it was reported' }),
  persons: Type.Integer({ minimum: 0 }),
});
const share = (description: string) =>
  Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
    description: `${description}; null where none was`,
  });
const value = Type.Object({ value: Type.String(), ...reached.properties });

const worth = {
  sums: Type.Array(
    Type.Object({ currency: Type.String({ description: 'Empty: none was said' }), sum: Type.Number() }),
    { description: 'Of value, by currency; money of different currencies is never added' },
  ),
};

/** The answer about a survey. */
export const surveyResultsShape = Type.Object({
  shown: reached,
  answered: reached,
  completed: reached,
  dismissed: reached,
  completion: share('Of those shown how many were completed'),
  nps: Type.Union(
    [
      Type.Object({
        promoters: Type.Integer(),
        passives: Type.Integer(),
        detractors: Type.Integer(),
        score: Type.Number({ minimum: -100, maximum: 100 }),
      }),
      Type.Null(),
    ],
    { description: 'Of the first question from 0 to 10; null where nobody answered one' },
  ),
  questions: Type.Array(
    Type.Object({
      id: Type.String(),
      answers: Type.Integer({ description: 'Of several choices each is one' }),
      respondents: reached,
      average: Type.Union([Type.Number(), Type.Null()], {
        description: 'Of the answers that are numbers; null where none was',
      }),
      values: Type.Array(value, { description: 'The commonest first' }),
      more_values: Type.Boolean(),
    }),
  ),
});
export type SurveyResults = Static<typeof surveyResultsShape>;

/** The answer about a promo. */
export const promoResultsShape = Type.Object({
  viewed: reached,
  clicked: reached,
  dismissed: reached,
  code_copied: reached,
  redeemed: Type.Object({ ...reached.properties, ...worth }),
  conversion: share('Of those viewed how many were clicked'),
});
export type PromoResults = Static<typeof promoResultsShape>;

/** The answer about a form. */
export const formResultsShape = Type.Object({
  shown: reached,
  submitted: Type.Object({ ...reached.properties, ...worth }),
  unshown: Type.Integer({
    minimum: 0,
    description: 'Of those submitted how many a script did not show in this time, as plain forms',
  }),
  dismissed: reached,
  conversion: share('Of those shown how many were submitted'),
  sources: Type.Array(Type.Object({ ...value.properties, ...worth }), {
    description: 'Where leads came from: utm_source, else the host of the referrer; empty where neither is known',
  }),
  more_sources: Type.Boolean(),
});
export type FormResults = Static<typeof formResultsShape>;

/** @param leastPersons Persons that an answer has at the least to be told: of fewer it may be what somebody wrote. */
export function surveyResults(_query: EngageQuery, rows: readonly EngageRow[], leastPersons = 1): SurveyResults {
  const of = statuses(rows);
  const answers = rows.filter(({ section }) => section === 'answer');
  const questions = [...Map.groupBy(answers, ({ name }) => name)].map(([id, values]) =>
    questionOf(id, values, rows, leastPersons),
  );
  return {
    shown: of('shown'),
    answered: of('answered'),
    completed: of('completed'),
    dismissed: of('dismissed'),
    completion: shareOf(rows, of('shown')),
    nps: npsOf(rows),
    questions,
  };
}

export function promoResults(_query: EngageQuery, rows: readonly EngageRow[]): PromoResults {
  const of = statuses(rows);
  return {
    viewed: of('view_promotion'),
    clicked: of('select_promotion'),
    dismissed: of('promotion_dismissed'),
    code_copied: of('promotion_code_copied'),
    redeemed: { ...of('promotion_redeemed'), sums: sumsOf(statusRow(rows, 'promotion_redeemed')) },
    conversion: shareOf(rows, of('view_promotion')),
  };
}

export function formResults(_query: EngageQuery, rows: readonly EngageRow[]): FormResults {
  const of = statuses(rows);
  const sources = rows.filter(({ section }) => section === 'source');
  return {
    shown: of('shown'),
    submitted: { ...of('submitted'), sums: sumsOf(statusRow(rows, 'submitted')) },
    unshown: of('submitted').times - convertedOf(rows),
    dismissed: of('dismissed'),
    conversion: shareOf(rows, of('shown')),
    sources: sources.map((row) => ({ value: row.text, times: row.times, persons: row.persons, sums: sumsOf(row) })),
    more_sources: (sources[0]?.texts ?? 0) > sources.length,
  };
}

type Reached = Static<typeof reached>;

const statusRow = (rows: readonly EngageRow[], status: string): EngageRow | undefined =>
  rows.find(({ section, name }) => section === 'status' && name === status);

function statuses(rows: readonly EngageRow[]): (name: string) => Reached {
  return (name) => {
    const row = statusRow(rows, name);
    return { times: row?.times ?? 0, persons: row?.persons ?? 0 };
  };
}

const sumsOf = (row: EngageRow | undefined): { currency: string; sum: number }[] =>
  (row?.amounts ?? []).map(([currency, units]) => ({ currency, sum: Number(units) / AMOUNT_UNITS }));

/** Showings that were begun and came to what is wanted, both in the time that is asked about: none is more than was begun. */
const convertedOf = (rows: readonly EngageRow[]): number =>
  rows.find(({ section }) => section === 'converted')?.times ?? 0;

const shareOf = (rows: readonly EngageRow[], { times }: Reached): number | null =>
  times === 0 ? null : convertedOf(rows) / times;

function questionOf(
  id: string,
  values: readonly EngageRow[],
  rows: readonly EngageRow[],
  leastPersons: number,
): SurveyResults['questions'][number] {
  const respondents = rows.find(({ section, name }) => section === 'question' && name === id);
  const { numbers = 0, total = 0 } = values[0] ?? {};
  const told = values.filter(({ persons }) => persons >= leastPersons);
  return {
    id,
    answers: values[0]?.all_times ?? 0,
    respondents: { times: respondents?.times ?? 0, persons: respondents?.persons ?? 0 },
    average: numbers === 0 ? null : total / numbers,
    values: told.map(({ text, times, persons }) => ({ value: text, times, persons })),
    more_values: (values[0]?.texts ?? 0) > told.length,
  };
}

/** Promoters' share less detractors', from -100 to 100. */
function npsOf(rows: readonly EngageRow[]): SurveyResults['nps'] {
  const of = (name: string): number => rows.find((row) => row.section === 'nps' && row.name === name)?.times ?? 0;
  const [promoters, passives, detractors] = [of('promoter'), of('passive'), of('detractor')];
  const all = promoters + passives + detractors;
  if (all === 0) return null;
  return { promoters, passives, detractors, score: ((promoters - detractors) / all) * 100 };
}
