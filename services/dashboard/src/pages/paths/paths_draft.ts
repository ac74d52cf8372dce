import type { Field } from '#pipelines/analytics/filters.ts';
import type { PathsAnswer } from '#pipelines/analytics/paths.ts';
import { type FilterDraft, filtersIn, isField, numberIn, objectIn } from '../../questions/conditions.ts';

export const ANCHORS = { starting_at: 'Starting at', ending_at: 'Ending at', through: 'Through' };
type Anchor = keyof typeof ANCHORS;

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

export function readPaths(given: unknown): PathsDraft {
  const asked = objectIn(given);
  const kind = (Object.keys(ANCHORS) as Anchor[]).find((one) => typeof asked[one] === 'string');
  const { by, window_ms, steps, top, filters } = asked;
  return {
    anchor: kind === undefined ? null : { kind, text: String(asked[kind]) },
    by: isField(by) ? (by as Field) : null,
    windowMs: numberIn(window_ms) ?? null,
    steps: numberIn(steps) ?? STEPS,
    top: numberIn(top) ?? TOP,
    filters: filtersIn(filters),
  };
}

/** The question of a draft: an anchor without a text is none. */
export const pathsQuestion = ({ anchor, by, windowMs, steps, top, filters }: PathsDraft): object => ({
  ...(anchor !== null && anchor.text !== '' && { [anchor.kind]: anchor.text }),
  ...(by !== null && { by }),
  ...(windowMs !== null && { window_ms: windowMs }),
  ...(filters.length > 0 && { filters }),
  ...{ steps, top },
});

export interface PathNode {
  place: number;
  /** Null: the values that are not given. */
  value: string | null;
  paths: number;
  /** How many end here, and how many go on behind the last place. */
  ends: number;
  goesOn: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A way from one value to the next: where it begins and ends, and how thick it is. */
export interface PathLink {
  from: PathNode;
  to: PathNode;
  paths: number;
  fromY: number;
  toY: number;
  height: number;
}

export interface PathLayout {
  nodes: PathNode[];
  links: PathLink[];
  width: number;
  height: number;
}

/** How wide a value is: the least, and what is wide enough for names. */
const NODE_PX = { least: 168, most: 336 };
const BAND_PX = 80;
const TALLEST_PX = 200;
const LEAST_PX = 44;
const GAP_PX = 12;

/**
 * Places beside each other, their values below each other, as high as there are paths.
 *
 * @param roomPx How wide it may be before it has to be scrolled; where it is more than enough, values are wider.
 */
export function pathLayout({ places, edges }: PathsAnswer, roomPx = 0): PathLayout {
  const columns = Math.max(1, places.length);
  const fitting = Math.floor((roomPx - (columns - 1) * BAND_PX) / columns);
  const width = Math.min(Math.max(fitting, NODE_PX.least), NODE_PX.most);
  const most = Math.max(
    1,
    ...places.flatMap(({ values, other }) => [...values, other ?? { paths: 0 }].map((one) => one.paths)),
  );
  const heightOf = (paths: number): number => Math.max(LEAST_PX, (paths / most) * TALLEST_PX);
  const nodes = places.flatMap(({ place, values, other }, column): PathNode[] => {
    let y = 0;
    const all = [...values, ...(other === null ? [] : [{ ...other, value: null }])];
    return all.map(({ value, paths, ends, goes_on }) => {
      const height = heightOf(paths);
      const node = { place, value, paths, ends, goesOn: goes_on, x: column * (width + BAND_PX), y, width, height };
      y += height + GAP_PX;
      return node;
    });
  });
  const bottom = Math.max(0, ...nodes.map(({ y, height }) => y + height));
  return {
    nodes,
    links: linksOf(nodes, edges),
    width: (columns - 1) * (width + BAND_PX) + width,
    height: bottom,
  };
}

function linksOf(nodes: readonly PathNode[], edges: PathsAnswer['edges']): PathLink[] {
  const byPlace = new Map(nodes.map((node) => [keyOf(node.place, node.value), node]));
  const [out, into] = [new Map<PathNode, number>(), new Map<PathNode, number>()];
  const take = (taken: Map<PathNode, number>, node: PathNode, height: number): number => {
    const before = taken.get(node) ?? 0;
    taken.set(node, before + height);
    return node.y + before;
  };
  const drawn = edges.flatMap(({ place, from, to, paths }) => {
    const [source, target] = [byPlace.get(keyOf(place, from)), byPlace.get(keyOf(place + 1, to))];
    return source === undefined || target === undefined ? [] : [{ source, target, paths }];
  });
  // Ways leave and arrive in the order of where they lead, so that few cross.
  drawn.sort((a, b) => a.source.y - b.source.y || a.target.y - b.target.y);
  return drawn.map(({ source, target, paths }) => {
    const height = Math.min((paths / source.paths) * source.height, (paths / target.paths) * target.height);
    return {
      from: source,
      to: target,
      paths,
      height,
      fromY: take(out, source, height),
      toY: take(into, target, height),
    };
  });
}

const keyOf = (place: number, value: string | null): string => JSON.stringify([place, value]);

/** The outline of a link as an SVG path: a band that bends from one column to the next. */
export function bandOf({ from, to, fromY, toY, height }: PathLink): string {
  const [x1, x2] = [from.x + from.width, to.x];
  const middle = (x1 + x2) / 2;
  return [
    `M${x1},${fromY}C${middle},${fromY} ${middle},${toY} ${x2},${toY}`,
    `V${toY + height}C${middle},${toY + height} ${middle},${fromY + height} ${x1},${fromY + height}Z`,
  ].join('');
}
