import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { AnswerTable } from '#pipelines/analytics/answer_table.ts';
import type { PathsAnswer } from '#pipelines/analytics/paths.ts';
import type { Picture, Shape } from '../../charts/chart_image.ts';
import { ChartActions } from '../../charts/chart_table.tsx';
import { number, percent, rangeText, timeZone } from '../../format.ts';
import type { AnswerViewProps } from '../../questions/question_result.tsx';
import { FigureLink } from '../../ui/button.tsx';
import { type Column, DataTable, numberColumn } from '../../ui/data_table.tsx';
import { Empty } from '../../ui/panel.tsx';
import { bandOf, type PathLayout, type PathLink, type PathNode, pathLayout } from './paths_draft.ts';

interface PathsViewProps extends AnswerViewProps<'paths'> {
  /** Shows the paths that begin with a value. */
  onFrom?: (value: string) => void;
}

export function PathsView({ query, answer, onFrom, onPart }: PathsViewProps) {
  const [roomPx, setRoomPx] = useState(0);
  const layout = useMemo(() => pathLayout(answer, roomPx), [answer, roomPx]);
  const list =
    onPart &&
    ((place: number, way: (string | null)[]): void =>
      onPart({ title: `${wayName(way)}: step ${place + way.length - 1}`, of: { paths: query, place, way } }));
  if (answer.paths === 0) {
    return <Empty title="No matching paths">Choose another event, fewer filters or a longer period.</Empty>;
  }
  return (
    <div class="stack">
      <p class="muted small">
        {number(answer.paths)} {answer.paths === 1 ? 'path' : 'paths'}
      </p>
      <PathsChart layout={layout} all={answer.paths} onFrom={onFrom} onWay={list} onRoom={setRoomPx} />
      <p class="row">
        <ChartActions
          title="Paths"
          when={rangeText(query, timeZone())}
          draw={({ savePicture }, title, name) => savePicture(pathsPicture(layout, answer.paths), title, name)}
        />
      </p>
      <details open={answer.edges.length <= EDGES_OPEN}>
        <summary>Transitions as a table</summary>
        <DataTable
          caption="Transitions"
          columns={edgeColumns(list)}
          rows={answer.edges}
          keyOf={({ place, from, to }) => JSON.stringify([place, from, to])}
          csvName="paths"
          emptyText="No transitions"
        />
      </details>
    </div>
  );
}

/** Each way from one value to the next a row. */
export const pathsTable = ({ answer: { edges } }: Pick<PathsViewProps, 'answer'>): AnswerTable => ({
  columns: ['Step', 'From', 'To', 'Paths'],
  rows: edges.map(({ place, from, to, paths }) => [place, shown(from), shown(to), paths]),
});

const NAME_PX = 20;

function pathsPicture({ nodes, links, width, height }: PathLayout, all: number): Picture {
  const boxes = nodes.flatMap((node): Shape[] => {
    const { value, x, y, width: wide, height: tall } = node;
    const text = { kind: 'text', x: x + 12, width: wide - 20, height: NAME_PX } as const;
    const top = y + tall / 2 - NAME_PX;
    return [
      { kind: 'box', x, y, width: wide, height: tall, fill: '--sunken' },
      { kind: 'box', x, y, width: 3, height: tall, fill: '--accent' },
      { ...text, y: top, text: shown(value) },
      { ...text, y: top + NAME_PX, text: nodeText(node, all), colour: '--text-soft' },
    ];
  });
  const bands = links.map((link): Shape => ({ kind: 'path', path: bandOf(link), fill: '--accent', opacity: 0.16 }));
  return { width, height, shapes: [...bands, ...boxes] };
}

const EDGES_OPEN = 12;
/** So much room the menu takes below what it is opened on. */
const MENU_HEIGHT_PX = 140;

/** Opens what can be done with a node or a link. */
type Choose = (chosen: ChosenWay) => void;
/** What opens it for a way; undefined: nothing can be done with that. */
type ChooseOf = (way: ChosenWay['way']) => Choose | undefined;
type ListWay = (place: number, way: (string | null)[]) => void;

interface PathsChartProps {
  layout: PathLayout;
  all: number;
  onFrom: PathsViewProps['onFrom'];
  onWay: ListWay | undefined;
  /** Hears how wide it may be. */
  onRoom(px: number): void;
}

function PathsChart({ layout, all, onFrom, onWay, onRoom }: PathsChartProps) {
  const [chosen, setChosen] = useState<ChosenWay | null>(null);
  const may = { list: onWay !== undefined, begin: onFrom !== undefined };
  const chooseOf: ChooseOf = (way) => (hasChoice(way, may) ? setChosen : undefined);
  const height = Math.max(layout.height, chosen === null ? 0 : chosen.y + MENU_HEIGHT_PX);
  return (
    <ScrollArea label="Path chart" onRoom={onRoom}>
      <div class="paths-room" style={{ '--width': `${layout.width}px`, '--height': `${height}px` }}>
        {layout.nodes.map((node) => (
          <PathNodeBox key={`${node.place} ${node.value}`} node={node} all={all} choose={chooseOf([node.value])} />
        ))}
        <PathLinks layout={layout} chooseOf={chooseOf} />
        {chosen !== null && (
          <PathMenu
            chosen={{ ...chosen, x: Math.max(0, Math.min(chosen.x, layout.width - MENU_PX)) }}
            onWho={onWay && (() => onWay(chosen.place, chosen.way))}
            onFrom={onFrom}
            onClose={() => setChosen(null)}
          />
        )}
      </div>
    </ScrollArea>
  );
}

function PathLinks({ layout, chooseOf }: { layout: PathLayout; chooseOf: ChooseOf }) {
  const { links, width, height } = layout;
  const size = { viewBox: `0 0 ${width} ${height}`, width, height };
  const shapes = links.map((link) => <LinkShape key={keyOf(link)} link={link} choose={chooseOf(wayOf(link))} />);
  if (links.every((link) => chooseOf(wayOf(link)) === undefined)) {
    return (
      <svg {...size} aria-hidden="true">
        {shapes}
      </svg>
    );
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: there is no other element for shapes that belong together.
    <svg {...size} role="group" aria-label="Links">
      {shapes}
    </svg>
  );
}

function LinkShape({ link, choose }: { link: PathLink; choose: Choose | undefined }) {
  const name = linkName(link);
  if (choose === undefined) {
    return (
      <path class="path-link" d={bandOf(link)}>
        <title>{name}</title>
      </path>
    );
  }
  const open = (by: SVGElement): void =>
    choose({
      ...{ place: link.from.place, way: wayOf(link), paths: link.paths, by },
      ...{ x: (link.from.x + link.from.width + link.to.x - MENU_PX) / 2, y: (link.fromY + link.toY + link.height) / 2 },
    });
  return (
    // biome-ignore lint/a11y/useSemanticElements: a shape cannot be a button in HTML.
    <path
      class="path-link path-act"
      d={bandOf(link)}
      role="button"
      tabindex={0}
      aria-label={name}
      onClick={({ currentTarget }) => open(currentTarget)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        open(event.currentTarget);
      }}
    >
      <title>{name}</title>
    </path>
  );
}

const wayOf = ({ from, to }: PathLink): ChosenWay['way'] => [from.value, to.value];
const keyOf = ({ from, to }: PathLink): string => JSON.stringify([from.place, from.value, to.value]);

const shown = (value: string | null): string => (value === null ? 'Others' : value === '' ? '(none)' : value);

const wayName = (way: readonly (string | null)[]): string => way.map(shown).join(' → ');
const linkName = ({ from, to, paths }: PathLink): string => `${wayName([from.value, to.value])}: ${number(paths)}`;

/** How many go through it, end there and go on behind the last place. */
const nodeText = ({ paths, ends, goesOn }: PathNode, all: number): string =>
  [
    ...[number(paths), percent(paths / all)],
    ...(ends > 0 ? [`${number(ends)} end`] : []),
    ...(goesOn > 0 ? [`${number(goesOn)} continue`] : []),
  ].join(' · ');

function PathNodeBox({ node, all, choose }: { node: PathNode; all: number; choose: Choose | undefined }) {
  const { place, value, paths, x, y } = node;
  const style = { '--x': `${x}px`, '--y': `${y}px`, '--height': `${node.height}px`, '--width': `${node.width}px` };
  const text = (
    <>
      <span class="cut path-name">{shown(value)}</span>
      <span class="muted small cut">{nodeText(node, all)}</span>
    </>
  );
  if (choose === undefined) {
    return (
      <div class="path-node" style={style} title={shown(value)}>
        {text}
      </div>
    );
  }
  return (
    <button
      type="button"
      class="path-node"
      style={style}
      title={shown(value)}
      aria-haspopup="true"
      onClick={({ currentTarget: by }) =>
        choose({ place, way: [value], paths, x, y: y + Math.min(node.height, 48), by })
      }
    >
      {text}
    </button>
  );
}

type Edge = PathsAnswer['edges'][number];

const edgeColumns = (list: ListWay | undefined): Column<Edge>[] => [
  { id: 'place', title: 'Step', align: 'end', value: ({ place }) => place },
  { id: 'from', title: 'From', value: ({ from }) => shown(from) },
  { id: 'to', title: 'To', value: ({ to }) => shown(to) },
  numberColumn(
    'paths',
    'Paths',
    ({ paths }) => paths,
    (paths, { place, from, to }) => (
      <FigureLink
        text={number(paths)}
        label={`${number(paths)}: show people, ${wayName([from, to])}`}
        act={list && (() => list(place, [from, to]))}
      />
    ),
  ),
];

/** A node or a link that was chosen, and where what can be done with it opens. */
interface ChosenWay {
  place: number;
  /** The values that it goes through; null: others. */
  way: (string | null)[];
  paths: number;
  x: number;
  y: number;
  /** What was pressed, which has the focus again afterwards. */
  by: HTMLElement | SVGElement;
}

interface PathMenuProps {
  chosen: ChosenWay;
  onWho: (() => void) | undefined;
  onFrom: ((value: string) => void) | undefined;
  onClose(): void;
}

const MENU_PX = 224;

/** What can be done with a node or a link of paths. Escape and leaving it close it. */
function PathMenu({ chosen, onWho, onFrom, onClose }: PathMenuProps) {
  const { way, paths, x, y, by } = chosen;
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => root.current?.querySelector('button')?.focus(), [by]);
  const values = valuesOf(way);
  const act = (done: () => void) => (): void => {
    by.focus();
    onClose();
    done();
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is of a form, and this is none.
    <div
      ref={root}
      role="group"
      class="menu-box path-menu"
      aria-label={wayName(way)}
      style={{ '--x': `${x}px`, '--y': `${y}px`, '--width': `${MENU_PX}px` }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        by.focus();
        onClose();
      }}
      onFocusOut={({ relatedTarget: to }) => {
        if (!(to instanceof Node && root.current?.contains(to) === true)) onClose();
      }}
    >
      <p class="muted small cut">{wayName(way)}</p>
      {onWho !== undefined && (
        <button type="button" class="menu-item" onClick={act(onWho)}>
          Show people ({number(paths)})
        </button>
      )}
      {onFrom !== undefined &&
        values.map((value) => (
          <button key={value} type="button" class="menu-item cut" onClick={act(() => onFrom(value))}>
            {way.length === 1 ? 'Paths from here' : `Paths from ${value}`}
          </button>
        ))}
    </div>
  );
}

const valuesOf = (way: ChosenWay['way']): string[] => [...new Set(way.flatMap((value) => value || []))];

const hasChoice = (way: ChosenWay['way'], may: { list: boolean; begin: boolean }): boolean =>
  may.list || (may.begin && valuesOf(way).length > 0);

interface ScrollAreaProps {
  label: string;
  /** Hears how much room there is from side to side. */
  onRoom(px: number): void;
  /** What it holds may be wider than that. */
  children: ComponentChildren;
}

/** A region that scrolls to the side, by keyboard as well, with a shadow at an edge behind which there is more. */
function ScrollArea({ label, onRoom, children }: ScrollAreaProps) {
  const region = useRef<HTMLElement>(null);
  const [more, setMore] = useState({ before: false, after: false });
  const look = (): void => {
    const seen = region.current;
    if (seen === null) return;
    const { paddingLeft, paddingRight } = getComputedStyle(seen);
    onRoom(seen.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight));
    const [before, after] = [seen.scrollLeft > 1, seen.scrollLeft + seen.clientWidth < seen.scrollWidth - 1];
    setMore((known) => (known.before === before && known.after === after ? known : { before, after }));
  };
  // What it holds may have become wider with whatever drew it again.
  useLayoutEffect(look);
  useLayoutEffect(() => {
    addEventListener('resize', look);
    return () => removeEventListener('resize', look);
  }, []);
  return (
    <div class={`side-scroll ${more.before ? 'more-before' : ''} ${more.after ? 'more-after' : ''}`}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <section class="side-scroll-region" aria-label={label} tabIndex={0} ref={region} onScroll={look}>
        {children}
      </section>
    </div>
  );
}
