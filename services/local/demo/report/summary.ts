import type { Style } from '#services/terminal_style.ts';
import { countDiffering, type Expected, type Findings, type Section } from '../compare.ts';
import { SITE_SLOTS } from '../world/event.ts';
import { FUNNEL_STEPS } from '../world/funnel.ts';
import { drawFunnel } from './funnel_chart.ts';
import { drawSection } from './table.ts';

const SURPRISES_SHOWN = 5;

/** The answers that were not as planned, the commonest first. */
export function drawSurprises(outcomes: Findings['outcomes'], style: Style): string[] {
  const found = Map.groupBy(
    outcomes.flatMap(({ surprise }) => (surprise === null ? [] : [surprise])),
    (surprise) => surprise,
  );
  const lines = [...found]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([text, times]) => `  ${times.length} × ${text}`);
  if (lines.length === 0) return [];
  return [style.strong('Answers that were not as planned'), ...lines.slice(0, SURPRISES_SHOWN), ''];
}

/** `every count equal`, or how many are not. */
export function closingLine(sections: readonly Section[], style: Style): string {
  const differing = countDiffering(sections);
  if (differing === 0) return style.good('every count equal');
  return style.bad(differing === 1 ? '1 count differs' : `${differing} counts differ`);
}

/** Everything that is printed at the end, as lines of at most 80 columns. */
export function drawSummary(
  expected: Expected,
  findings: Findings,
  sections: readonly Section[],
  style: Style,
): string[] {
  const funnels = SITE_SLOTS.flatMap((slot) =>
    drawFunnel(
      {
        title: `${slot}: from page to purchase, by person`,
        steps: FUNNEL_STEPS,
        found: findings.sites[slot].funnel,
        expected: expected.ledger.sites[slot].funnel,
      },
      style,
    ),
  );
  return [
    ...sections.flatMap((section) => drawSection(section, style)),
    ...drawSurprises(findings.outcomes, style),
    closingLine(sections, style),
    '',
    ...funnels,
  ];
}
