import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { TopAnswer } from '#pipelines/analytics/top.ts';
import type { SiteItem } from '#services/control_api/sites.ts';
import { ask } from '../../api/questions.ts';
import { type Asked, useAnswer } from '../../api/use_answer.ts';
import { number } from '../../format.ts';
import type { Period } from '../../period.ts';
import { queryAsking } from '../../questions/question_place.ts';
import { addressOf } from '../../router.ts';
import { Panel } from '../../ui/panel.tsx';
import { Empty, Shown } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import {
  campaignRevenue,
  directQuestion,
  pageName,
  type Ranked,
  ranked,
  sourceName,
  type ViewsBy,
  viewsQuestion,
} from './overview_questions.ts';

interface RankingsProps {
  siteId: string;
  site: SiteItem | undefined;
  period: Period;
  everyMs: number;
}

const SHOWN_MAX = 10;

/** Which pages are seen most, and where their visitors came from. */
export function Rankings(props: RankingsProps): VNode {
  const [source, setSource] = useState('referrers');
  const [pages, otherPages] = [
    useViews(props, { property: '$current_url', part: 'page' }),
    useViews(props, { property: 'page_location', part: 'page', unlessSet: '$current_url' }),
  ];
  const [referrers, otherReferrers] = [
    useViews(props, { property: '$referrer', part: 'other_host' }),
    useViews(props, { property: 'page_referrer', part: 'other_host', unlessSet: '$referrer' }),
  ];
  const direct = useDirect(props);
  const domains = props.site?.domains;
  const nameOfSource = useMemo(() => sourceName(domains ?? []), [domains]);
  return (
    <div class="columns">
      <Panel title="Top pages">
        <Ranking what="Page" asked={[pages, otherPages]} nameOf={pageName} empty="No page views in this period" />
      </Panel>
      <Panel title="Top sources">
        <Tabs
          label="Sources"
          chosen={source}
          onChosen={setSource}
          tabs={[
            {
              id: 'referrers',
              label: 'Referring sites',
              content: () => (
                <Ranking
                  what="Source"
                  asked={[referrers, otherReferrers, direct]}
                  nameOf={nameOfSource}
                  empty="No page views in this period"
                />
              ),
            },
            {
              id: 'campaigns',
              label: 'Campaigns',
              content: () => <Campaigns {...props} />,
            },
          ]}
        />
      </Panel>
    </div>
  );
}

/** Page views by a property, of the period. */
function useViews({ siteId, period, everyMs }: RankingsProps, by: ViewsBy): Asked<TopAnswer> {
  const key = `${siteId} ${period.from} ${period.lastDay} ${by.property}`;
  return useAnswer(key, (signal) => ask(siteId, 'top', viewsQuestion(period, by), signal), everyMs);
}

/** Page views that nothing led to. */
function useDirect({ siteId, period, everyMs }: RankingsProps): Asked<TopAnswer> {
  const key = `${siteId} ${period.from} ${period.lastDay}`;
  return useAnswer(key, (signal) => ask(siteId, 'top', directQuestion(period), signal), everyMs);
}

const valueName = (value: string): string | null => value || null;

/** The campaigns by page views, asked when somebody looks, and the way to what the people whom they brought bought. */
function Campaigns(props: RankingsProps): VNode {
  const { siteId } = props;
  const asked = useViews(props, { property: 'utm_campaign' });
  const names = ranked(asked.value === null ? [] : [asked.value], valueName).map(({ name }) => name);
  return (
    <div class="stack">
      <Ranking what="Campaign" asked={[asked]} nameOf={valueName} empty="No view has utm_campaign" />
      {names.length > 0 && (
        <p>
          <a class="button small" href={revenueAddress(siteId, names)}>
            Compare their revenue
          </a>
        </p>
      )}
    </div>
  );
}

const revenueAddress = (siteId: string, campaigns: readonly string[]): string =>
  addressOf(`/sites/${encodeURIComponent(siteId)}/trends`, queryAsking(campaignRevenue(campaigns)));

interface RankingProps {
  /** What is ranked, over the names. */
  what: string;
  asked: readonly Asked<TopAnswer>[];
  nameOf(value: string): string | null;
  empty: string;
}

function Ranking({ what, asked, nameOf, empty }: RankingProps): VNode {
  const answers = asked.flatMap(({ value }) => value ?? []);
  const rows = useMemo(() => ranked(answers, nameOf).slice(0, SHOWN_MAX), [nameOf, ...answers]);
  // Half of the views would make another ranking: whichever answer is not there says why.
  const first = asked.find(({ value, failure }) => value === null || failure !== null) ?? asked[0];
  if (first === undefined) return <Empty title={empty} />;
  return (
    <Shown asked={first} lines={SHOWN_MAX}>
      {() => (rows.length === 0 ? <Empty title={empty} /> : <Bars what={what} rows={rows} />)}
    </Shown>
  );
}

function Bars({ what, rows }: { what: string; rows: readonly Ranked[] }): VNode {
  const most = rows[0]?.views ?? 1;
  return (
    <>
      <p class="bars-head muted small">
        <span>{what}</span>
        <span>Page views</span>
      </p>
      <ol class="bars">
        {rows.map(({ name, views }) => (
          <li key={name} style={{ '--share': `${((views / most) * 100).toFixed(1)}%` }}>
            <span class="cut" title={name}>
              {name}
            </span>
            <span>{number(views)}</span>
          </li>
        ))}
      </ol>
    </>
  );
}
