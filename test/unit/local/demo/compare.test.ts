import { describe, expect, it } from 'vitest';
import {
  compare,
  countDiffering,
  type Delivery,
  type DestinationName,
  dueIds,
  type Expected,
  type Findings,
} from '#services/local/demo/compare.ts';
import { judge } from '#services/local/demo/send_requests.ts';
import { SITE_SLOTS, type SiteSlot } from '#services/local/demo/world/demo_event.ts';
import { createWorld } from '#services/local/demo/world/demo_world.ts';
import { funnelOf } from './funnel_of.ts';

const ENDS_AT = Date.UTC(2026, 10, 20, 21);
const world = createWorld({ seed: 9, run: 'compare', visitors: 120, endsAt: ENDS_AT });
const { sites } = world.ledger;
const idsOf = (slot: SiteSlot) => {
  const events = [...sites[slot].unique.values()];
  return { meta: dueIds('meta', events, ENDS_AT), webhook: dueIds('webhook', events, ENDS_AT) };
};
const expected: Expected = { ledger: world.ledger, due: { shop: idsOf('shop'), travel: idsOf('travel') } };

function deliveredOf(name: DestinationName): Map<string, Delivery> {
  return new Map(
    SITE_SLOTS.flatMap((slot) => [...expected.due[slot][name]]).map((id) => [id, { times: 1, effects: 1 }]),
  );
}

/** What a service without a fault would show. */
function faultless() {
  const outcomes = world.requests.map((request) => {
    const { status, accepted, rejected } = request.expect;
    const body = { accepted, ...(rejected > 0 ? { rejected: Array.from({ length: rejected }, () => ({})) } : {}) };
    return judge(request, { kind: 'answered', status, retryAfterS: null, body: JSON.stringify(body) }, 1);
  });
  const findingsOf = (slot: SiteSlot) => ({
    events: sites[slot].unique.size,
    people: sites[slot].people,
    byName: new Map(sites[slot].byName),
    funnel: funnelOf(sites[slot].funnel),
  });
  return {
    outcomes,
    sites: { shop: findingsOf('shop'), travel: findingsOf('travel') },
    deliveries: { meta: deliveredOf('meta'), webhook: deliveredOf('webhook') },
  } satisfies Findings;
}

function differing(findings: Findings): string[] {
  const sections = compare(expected, findings);
  const labels = sections.flatMap(({ title, rows }) =>
    rows.filter(({ equal }) => equal === false).map(({ label }) => `${title}: ${label}`),
  );
  expect(countDiffering(sections)).toBe(labels.length);
  return labels;
}

type Fault = (findings: ReturnType<typeof faultless>) => void;
const one = ({ byName }: { byName: Map<string, number> }, name: string, change: number): void => {
  byName.set(name, (byName.get(name) ?? 0) + change);
};

const CASES: { title: string; fault: Fault; rows: string[] }[] = [
  {
    title: 'an event that is missing',
    fault: ({ sites: { shop } }) => {
      one(shop, 'page_view', -1);
      shop.events -= 1;
    },
    rows: ['Edge responses:   of which duplicates', 'Stored, shop: page_view', 'Stored, shop: all events'],
  },
  {
    title: 'an event name that nobody sent',
    fault: ({ sites: { shop } }) => {
      one(shop, 'page_view', -1);
      one(shop, 'pageview', 1);
    },
    rows: ['Stored, shop: page_view', 'Stored, shop: pageview'],
  },
  {
    title: 'a person too many',
    fault: ({ sites: { shop } }) => {
      shop.people += 1;
    },
    rows: ['People, across devices and tills: shop'],
  },
  {
    title: 'a person short at the last step',
    fault: ({ sites: { travel } }) => {
      const last = travel.funnel.steps.at(-1);
      if (last !== undefined) last.reached -= 1;
    },
    rows: ['Funnel, travel: purchase'],
  },
  {
    title: 'a delivery that is missing',
    fault: ({ deliveries }) => deliveries.meta.delete([...expected.due.shop.meta][0] ?? ''),
    rows: ['Deliveries: meta, shop'],
  },
  {
    title: 'a delivery that was not due',
    fault: ({ deliveries }) => deliveries.webhook.set('somebody-else', { times: 1, effects: 1 }),
    rows: ['Deliveries: webhook, unexpected'],
  },
  {
    title: 'a delivery that counted twice',
    fault: ({ deliveries }) => deliveries.meta.set([...expected.due.travel.meta][0] ?? '', { times: 2, effects: 2 }),
    rows: ['Deliveries: meta, counted twice'],
  },
  {
    title: 'a request answered otherwise',
    fault: ({ outcomes }) => {
      const nth = outcomes.findIndex(({ accepted }) => accepted === 1);
      outcomes[nth] = {
        ...(outcomes[nth] as (typeof outcomes)[number]),
        accepted: 0,
        surprise: 'accepted 0 instead of 1',
      };
    },
    rows: [
      'Edge responses: responses as expected',
      'Edge responses: events accepted',
      'Edge responses:   of which duplicates',
      'Edge responses: events filtered (bots, prefetch)',
    ],
  },
];

describe('compare', () => {
  it('finds every count equal where nothing is wrong', () => {
    expect(differing(faultless())).toEqual([]);
  });

  it('does not mind repeated deliveries, and counts them', () => {
    const findings = faultless();
    const [first] = expected.due.shop.meta;
    findings.deliveries.meta.set(first ?? '', { times: 3, effects: 1 });
    expect(differing(findings)).toEqual([]);
    const row = compare(expected, findings).find(({ title }) => title === 'Deliveries')?.rows[0];
    expect(row?.cells[2]).toBe(2);
  });

  it.each(CASES)('shows $title', ({ fault, rows }) => {
    const findings = faultless();
    fault(findings);
    expect(differing(findings)).toEqual(rows);
  });
});
