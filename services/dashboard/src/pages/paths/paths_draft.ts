import type { Field } from '#pipelines/analytics/filters.ts';
import { type FilterDraft, filtersIn, isField } from '../../questions/condition_draft.ts';
import { objectIn } from '../../questions/from_address.ts';

export const ANCHORS = ['starting_at', 'ending_at', 'through'] as const;
type Anchor = (typeof ANCHORS)[number];

/** Paths as they are being written: what the API takes, without the time, and with the anchor apart. */
export interface PathsDraft {
  anchor: { kind: Anchor; text: string } | null;
  by: Field | null;
  windowMs: number | null;
  steps: number;
  top: number;
  filters: FilterDraft[];
}

const STEPS = 4;
const TOP = 6;

/** The paths that an address asks for, or all from their beginning. */
export function readPaths(given: unknown): PathsDraft {
  const asked = objectIn(given);
  const kind = ANCHORS.find((one) => typeof asked[one] === 'string');
  const { by, window_ms, steps, top, filters } = asked;
  return {
    anchor: kind === undefined ? null : { kind, text: String(asked[kind]) },
    by: isField(by) ? (by as Field) : null,
    windowMs: typeof window_ms === 'number' ? window_ms : null,
    steps: typeof steps === 'number' ? steps : STEPS,
    top: typeof top === 'number' ? top : TOP,
    filters: filtersIn(filters),
  };
}

/** The question of a draft: an anchor without a text is none. */
export function pathsQuestion({ anchor, by, windowMs, steps, top, filters }: PathsDraft): object {
  return {
    ...(anchor !== null && anchor.text !== '' && { [anchor.kind]: anchor.text }),
    ...(by !== null && { by }),
    ...(windowMs !== null && { window_ms: windowMs }),
    ...(filters.length > 0 && { filters }),
    ...{ steps, top },
  };
}
