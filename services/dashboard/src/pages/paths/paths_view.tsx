import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { PathsAnswer, PathsQuery } from '#pipelines/analytics/paths.ts';
import { number, percent } from '../../format.ts';
import type { ListedPart } from '../../questions/actor_dialog.tsx';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { SideScroll } from '../../ui/side_scroll.tsx';
import { Empty } from '../../ui/states.tsx';
import { bandOf, NODE_PX, type PathLayout, type PathLink, type PathNode, pathLayout } from './path_layout.ts';
import { type ChosenWay, hasChoice, MENU_PX, PathMenu, shown, wayName } from './path_menu.tsx';

interface PathsViewProps {
  query: PathsQuery;
  answer: PathsAnswer;
  /** Shows the paths from a value on. */
  onFrom?: (value: string) => void;
  /** Lists who is in a part; left out where nobody may be listed. */
  onPart?: ((part: ListedPart) => void) | undefined;
}

/** The answer to paths: columns of values with the ways between them, and the same ways as a table. */
export function PathsView({ query, answer, onFrom, onPart }: PathsViewProps): VNode {
  const layout = useMemo(() => pathLayout(answer), [answer]);
  const list =
    onPart &&
    ((place: number, way: (string | null)[]): void =>
      onPart({ title: `${wayName(way)}: step ${place + way.length - 1}`, of: { paths: query, place, way } }));
  if (answer.paths === 0) {
    return <Empty title="Nobody went this way">Choose another event, fewer filters or a longer period.</Empty>;
  }
  return (
    <div class="stack">
      <p class="muted small">
        {number(answer.paths)} {answer.paths === 1 ? 'path' : 'paths'}
      </p>
      <PathsChart layout={layout} all={answer.paths} onFrom={onFrom} onWay={list} />
      <details open={answer.edges.length <= EDGES_OPEN}>
        <summary>Ways as a table</summary>
        <DataTable
          caption="Ways"
          columns={edgeColumns(list)}
          rows={answer.edges}
          keyOf={({ place, from, to }) => JSON.stringify([place, from, to])}
          csvName="paths"
          emptyText="Nothing came after these"
        />
      </details>
    </div>
  );
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
}

function PathsChart({ layout, all, onFrom, onWay }: PathsChartProps): VNode {
  const [chosen, setChosen] = useState<ChosenWay | null>(null);
  const may = { list: onWay !== undefined, begin: onFrom !== undefined };
  const chooseOf: ChooseOf = (way) => (hasChoice(way, may) ? setChosen : undefined);
  const height = Math.max(layout.height, chosen === null ? 0 : chosen.y + MENU_HEIGHT_PX);
  return (
    <SideScroll label="Places of paths">
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
    </SideScroll>
  );
}

function PathLinks({ layout, chooseOf }: { layout: PathLayout; chooseOf: ChooseOf }): VNode {
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

function LinkShape({ link, choose }: { link: PathLink; choose: Choose | undefined }): VNode {
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
      ...{ x: (link.from.x + NODE_PX + link.to.x - MENU_PX) / 2, y: (link.fromY + link.toY + link.height) / 2 },
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
const linkName = ({ from, to, paths }: PathLink): string => `${wayName([from.value, to.value])}: ${number(paths)}`;

interface PathNodeBoxProps {
  node: PathNode;
  all: number;
  choose: Choose | undefined;
}

function PathNodeBox({ node, all, choose }: PathNodeBoxProps): VNode {
  const { place, value, paths, ends, goesOn, x, y } = node;
  const style = { '--x': `${x}px`, '--y': `${y}px`, '--height': `${node.height}px`, '--width': `${NODE_PX}px` };
  const text = (
    <>
      <span class="cut path-name">{shown(value)}</span>
      <span class="muted small">
        {number(paths)} · {percent(paths / all)}
        {ends > 0 && ` · ${number(ends)} end`}
        {goesOn > 0 && ` · ${number(goesOn)} go on`}
      </span>
    </>
  );
  if (choose === undefined) {
    return (
      <div class="path-node" style={style}>
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
  {
    ...{ id: 'paths', title: 'Paths', align: 'end', value: ({ paths }) => paths },
    cell: ({ place, from, to, paths }) =>
      list === undefined ? (
        number(paths)
      ) : (
        <button
          type="button"
          class="figure-link"
          aria-label={`${number(paths)}: show who, ${wayName([from, to])}`}
          onClick={() => list(place, [from, to])}
        >
          {number(paths)}
        </button>
      ),
  },
];
