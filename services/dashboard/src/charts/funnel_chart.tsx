import type { VNode } from 'preact';
import { number, percent, span } from '../format.ts';

/** A step of a funnel as it is drawn. */
export interface FunnelStep {
  name: string;
  reached: number;
  /** From the step before; null at the first one or where nobody got here. */
  medianMs: number | null;
  /** Whether it may be left out; steps after it are compared with the one before it. */
  isOptional?: boolean;
}

interface FunnelChartProps {
  title: string;
  steps: readonly FunnelStep[];
  /** Shows who reached a step, or who got no further than the one before it. */
  onActors?: (step: number, which: 'reached' | 'dropped') => void;
}

/** The steps of a funnel as bars, with what each has of the first and of the one before it. It reads as a list. */
export function FunnelChart({ title, steps, onActors }: FunnelChartProps): VNode {
  const first = steps[0]?.reached ?? 0;
  return (
    <ol class="funnel" aria-label={title}>
      {steps.map((step, at) => {
        const previous = comparedWith(steps, at);
        const before = steps[previous]?.reached ?? null;
        const share = first === 0 ? 0 : step.reached / first;
        return (
          <li key={`${at} ${step.name}`} class="funnel-step">
            <span class="funnel-name cut">
              <span class="muted">{at + 1}</span> {step.name}
              {step.isOptional === true && <span class="muted small"> (optional)</span>}
            </span>
            <svg class="funnel-bar" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
              <rect class="funnel-all" width="100" height="24" />
              <rect class="funnel-reached" width={(share * 100).toFixed(2)} height="24" />
            </svg>
            <span class="funnel-figures">
              <Figure
                text={number(step.reached)}
                act={onActors && (() => onActors(at, 'reached'))}
                what={`who reached step ${at + 1}`}
              />
              <span class="muted">{percent(share)}</span>
              {before !== null && (
                <span class="muted small">
                  {percent(before === 0 ? null : step.reached / before)} of step {previous + 1}
                  {step.medianMs !== null && `, half within ${span(step.medianMs)}`}
                  {', '}
                  <Figure
                    text={`${number(before - step.reached)} ${step.isOptional === true ? 'left it out' : 'dropped'}`}
                    act={onActors && (() => onActors(at, 'dropped'))}
                    what={`who did not get to step ${at + 1}`}
                  />
                </span>
              )}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

/** The last step before one that may not be left out; -1 for the first step. */
function comparedWith(steps: readonly FunnelStep[], at: number): number {
  return steps.findLastIndex((step, index) => index < at && step.isOptional !== true);
}

function Figure({ text, act, what }: { text: string; act: (() => void) | undefined; what: string }): VNode {
  if (act === undefined) return <span>{text}</span>;
  return (
    <button type="button" class="figure-link" aria-label={`${text}: show ${what}`} onClick={act}>
      {text}
    </button>
  );
}
