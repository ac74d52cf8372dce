import type { VNode } from 'preact';
import type { FormResults, PromoResults, SurveyResults } from '#pipelines/analytics/engage_results.ts';
import type { EngageKind } from '#pipelines/engage/definition_fields.ts';
import type { EngageView } from '#services/control_api/engage.ts';
import { request } from '../../api/request.ts';
import { useAnswer } from '../../api/use_answer.ts';
import { number, percent } from '../../format.ts';
import { readPeriod } from '../../period.ts';
import { place } from '../../router.ts';
import { Shown } from '../../ui/states.tsx';
import { asAsked, questionWords } from './engage_item.ts';

type Results = SurveyResults | PromoResults | FormResults;

interface EngageResultsProps {
  siteId: string;
  kind: EngageKind;
  item: EngageView;
}

/** What came of an item in the period that the page has. */
export function EngageResults({ siteId, kind, item }: EngageResultsProps): VNode {
  const period = readPeriod(place.value.query, Date.now());
  const path = `/v1/query/${encodeURIComponent(siteId)}/${kind}`;
  const body = { from: period.from, to: period.to, id: item.id };
  const asked = useAnswer(`${path} ${item.id} ${period.from} ${period.lastDay}`, (signal) =>
    request<Results>('POST', path, { body, signal }),
  );
  return (
    <div class="stack">
      <p class="muted">{period.label}</p>
      <Shown asked={asked}>
        {(results) => (
          <div class="stack">
            <ul class="figures">
              {figuresOf(results).map(([name, text]) => (
                <li class="figure" key={name}>
                  <span class="figure-name">{name}</span>
                  <span class="figure-total">{text}</span>
                </li>
              ))}
            </ul>
            {'questions' in results && <Questions questions={results.questions} item={item} />}
            {'sources' in results && <Ranked title="Where leads came from" rows={results.sources} empty="Not known" />}
          </div>
        )}
      </Shown>
    </div>
  );
}

function figuresOf(results: Results): readonly (readonly [name: string, text: string])[] {
  if ('completed' in results) {
    const { shown, answered, completed, dismissed, completion, nps } = results;
    return [
      ['Shown', number(shown.times)],
      ['Answered', number(answered.times)],
      ['Completed', `${number(completed.times)} (${percent(completion)})`],
      ['Dismissed', number(dismissed.times)],
      ...(nps === null ? [] : [['NPS', number(nps.score)] as const]),
    ];
  }
  if ('viewed' in results) {
    const { viewed, clicked, dismissed, code_copied, redeemed, conversion } = results;
    return [
      ['Seen', number(viewed.times)],
      ['Clicked', `${number(clicked.times)} (${percent(conversion)})`],
      ['Code copied', number(code_copied.times)],
      ['Redeemed', number(redeemed.times)],
      ['Dismissed', number(dismissed.times)],
    ];
  }
  const { shown, submitted, dismissed, conversion } = results;
  return [
    ['Shown', number(shown.times)],
    ['Sent', `${number(submitted.times)} (${percent(conversion)})`],
    ['Dismissed', number(dismissed.times)],
  ];
}

function Questions({ questions, item }: Pick<SurveyResults, 'questions'> & { item: EngageView }): VNode {
  return (
    <>
      {asAsked(questions, item).map(({ id, answers, average, values }) => {
        const words = questionWords(item, id);
        return (
          <Ranked
            key={id}
            title={`${words.text}: ${number(answers)} ${answers === 1 ? 'answer' : 'answers'}${average === null ? '' : `, on average ${number(average)}`}`}
            rows={values.map(({ value, times }) => ({ value: words.choices.get(value) ?? value, times }))}
            empty="No text"
          />
        );
      })}
    </>
  );
}

interface RankedProps {
  title: string;
  rows: readonly { value: string; times: number }[];
  /** What stands for an empty value. */
  empty: string;
}

function Ranked({ title, rows, empty }: RankedProps): VNode {
  const most = Math.max(1, ...rows.map(({ times }) => times));
  return (
    <section class="stack-small">
      <h3>{title}</h3>
      {rows.length === 0 ? (
        <p class="muted">Nothing yet</p>
      ) : (
        <ol class="bars">
          {rows.map(({ value, times }) => (
            <li key={value} style={{ '--share': `${((times / most) * 100).toFixed(1)}%` }}>
              <span class="wraps">{value === '' ? empty : value}</span>
              <span>{number(times)}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
