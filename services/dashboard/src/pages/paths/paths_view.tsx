import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { PathsAnswer } from '#pipelines/query/paths.ts';
import { number, percent } from '../../format.ts';
import { type Column, DataTable } from '../../ui/data_table.tsx';
import { Empty } from '../../ui/states.tsx';
import { bandOf, NODE_PX, type PathNode, pathLayout } from './path_layout.ts';

interface PathsViewProps {
  answer: PathsAnswer;
  /** Shows the paths through a value. */
  onValue?: (value: string) => void;
}

/** The answer to paths: columns of values with the ways between them, and the same ways as a table. */
export function PathsView({ answer, onValue }: PathsViewProps): VNode {
  const layout = useMemo(() => pathLayout(answer), [answer]);
  if (answer.paths === 0) {
    return <Empty title="Nobody went this way">Choose another event, fewer filters or a longer period.</Empty>;
  }
  return (
    <div class="stack">
      <p class="muted small">
        {number(answer.paths)} {answer.paths === 1 ? 'path' : 'paths'}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <section class="paths" aria-label="Places of paths" tabIndex={0}>
        <div class="paths-room" style={{ '--width': `${layout.width}px`, '--height': `${layout.height}px` }}>
          <svg viewBox={`0 0 ${layout.width} ${layout.height}`} aria-hidden="true">
            {layout.links.map((link) => (
              <path key={`${link.from.place} ${link.from.value} ${link.to.value}`} class="path-link" d={bandOf(link)}>
                <title>{`${shown(link.from.value)} → ${shown(link.to.value)}: ${number(link.paths)}`}</title>
              </path>
            ))}
          </svg>
          {layout.nodes.map((node) => (
            <PathNodeBox
              key={`${node.place} ${node.value}`}
              node={node}
              all={answer.paths}
              act={node.value === null || node.value === '' ? undefined : onValue}
            />
          ))}
        </div>
      </section>
      <details open={answer.edges.length <= EDGES_OPEN}>
        <summary>Ways as a table</summary>
        <DataTable
          caption="Ways"
          columns={EDGE_COLUMNS}
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

const shown = (value: string | null): string => (value === null ? 'Others' : value === '' ? '(none)' : value);

interface PathNodeBoxProps {
  node: PathNode;
  all: number;
  act: ((value: string) => void) | undefined;
}

function PathNodeBox({ node, all, act }: PathNodeBoxProps): VNode {
  const { value, paths, ends, goesOn } = node;
  const place = {
    '--x': `${node.x}px`,
    '--y': `${node.y}px`,
    '--height': `${node.height}px`,
    '--width': `${NODE_PX}px`,
  };
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
  if (act === undefined || value === null) {
    return (
      <div class="path-node" style={place}>
        {text}
      </div>
    );
  }
  return (
    <button type="button" class="path-node" style={place} title={`Paths through ${value}`} onClick={() => act(value)}>
      {text}
    </button>
  );
}

type Edge = PathsAnswer['edges'][number];

const EDGE_COLUMNS: Column<Edge>[] = [
  { id: 'place', title: 'Step', align: 'end', value: ({ place }) => place },
  { id: 'from', title: 'From', value: ({ from }) => shown(from) },
  { id: 'to', title: 'To', value: ({ to }) => shown(to) },
  { id: 'paths', title: 'Paths', align: 'end', value: ({ paths }) => paths, cell: (row) => number(row.paths) },
];
