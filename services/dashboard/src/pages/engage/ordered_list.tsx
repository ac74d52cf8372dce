import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { listAt, moved, type Path } from './definition_json.ts';
import { ProblemAt, useDefinition } from './path_fields.tsx';

interface OrderedListProps {
  at: Path;
  /** What one is called: "Question". */
  one: string;
  /** What many are called: "Questions". */
  label: string;
  min: number;
  max: number;
  /** Makes another one. */
  make(list: readonly unknown[]): unknown;
  /** Told which one is worked on. */
  onLook?(index: number): void;
  children(at: Path, index: number): VNode;
}

/** A list whose items are added, removed and moved by buttons. */
export function OrderedList({ at, one, label, min, max, make, onLook, children }: OrderedListProps): VNode {
  const { filled, set } = useDefinition();
  const rows = useRef<HTMLOListElement>(null);
  const [said, setSaid] = useState('');
  const list = listAt(filled, at);
  const focusIn = (index: number, selector: string): void => {
    requestAnimationFrame(() => {
      const row = rows.current?.children[index];
      const wanted =
        row?.querySelector<HTMLElement>(selector) ?? row?.querySelector<HTMLElement>('button:not(:disabled)');
      wanted?.focus();
    });
  };
  const move = (from: number, to: number, button: string): void => {
    set(at, moved(list, from, to));
    setSaid(`${one} ${from + 1} is now ${one.toLowerCase()} ${to + 1}`);
    focusIn(to, `:scope > .item-head [data-name="${button}"]:not(:disabled)`);
  };
  return (
    <div class="stack-small">
      <ol class="items" aria-label={label} ref={rows}>
        {list.map((_, index) => {
          const name = `${one} ${index + 1}`;
          const buttons: { icon: IconName; says: string; isOff: boolean; act(): void }[] = [
            {
              icon: 'up',
              says: `Move ${name.toLowerCase()} up`,
              isOff: index === 0,
              act: () => move(index, index - 1, 'up'),
            },
            {
              ...{ icon: 'down', says: `Move ${name.toLowerCase()} down`, isOff: index === list.length - 1 },
              act: () => move(index, index + 1, 'down'),
            },
            {
              ...{ icon: 'close', says: `Remove ${name.toLowerCase()}`, isOff: list.length <= min },
              act: () =>
                set(
                  at,
                  list.filter((_one, other) => other !== index),
                ),
            },
          ];
          return (
            <li class="item" key={index} aria-label={name} onFocusIn={() => onLook?.(index)}>
              <div class="item-head">
                <span class="strong">{name}</span>
                {buttons.map(({ icon, says, isOff, act }) => (
                  <button
                    key={icon}
                    type="button"
                    class="button icon-only"
                    data-name={icon}
                    aria-label={says}
                    title={says}
                    disabled={isOff}
                    onClick={act}
                  >
                    <Icon name={icon} />
                  </button>
                ))}
              </div>
              {children([...at, index], index)}
            </li>
          );
        })}
      </ol>
      <p class="hidden" role="status">
        {said}
      </p>
      <ProblemAt at={at} />
      {list.length < max && (
        <button
          type="button"
          class="button small"
          onClick={() => {
            set(at, [...list, make(list)]);
            focusIn(list.length, 'input, textarea, select');
          }}
        >
          <Icon name="plus" /> Add {/^[aeiou]/i.test(one) ? 'an' : 'a'} {one.toLowerCase()}
        </button>
      )}
    </div>
  );
}
