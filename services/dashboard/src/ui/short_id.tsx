import type { VNode } from 'preact';

const BEGIN = 8;
const END = 6;

/** An id without its middle, which tells nobody anything; its title has all of it. */
export function ShortId({ id }: { id: string }): VNode {
  const isShort = id.length <= BEGIN + END + 1;
  return (
    <span class="mono" title={id}>
      {isShort ? id : `${id.slice(0, BEGIN)}…${id.slice(-END)}`}
    </span>
  );
}
