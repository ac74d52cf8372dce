import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon_button.tsx';
import { freeId, listAt, moved, type Path } from './definition_json.ts';
import { textsName } from './definition_names.ts';
import { ProblemAt, useDefinition } from './path_fields.tsx';

interface OrderedListProps {
  at: Path;
  /** What one is called: "Question". */
  one: string;
  /** What many are called: "Questions". */
  label: string;
  min: number;
  max: number;
  /** Makes another one. @param free Finds an id for it that nothing in the list ever had. */
  make(free: (prefix: string) => string): unknown;
  /** Told which one is worked on. */
  onLook?(index: number): void;
  children(at: Path, index: number): VNode;
}

/** A list whose items are added, removed and moved by buttons. */
export function OrderedList({ at, one, label, min, max, make, onLook, children }: OrderedListProps): VNode {
  const { filled, used, set } = useDefinition();
  const rows = useRef<HTMLOListElement>(null);
  const adding = useRef<HTMLButtonElement>(null);
  const [said, setSaid] = useState('');
  const list = listAt(filled, at);
  const focusIn = (index: number, selector: string): void => {
    requestAnimationFrame(() => {
      const row = rows.current?.children[index];
      const wanted = row?.querySelector<HTMLElement>(selector) ?? row?.querySelector<HTMLElement>(ANY_BUTTON);
      wanted?.focus();
    });
  };
  const move = (from: number, to: number, button: IconName): void => {
    set(at, moved(list, from, to));
    setSaid(`${one} ${from + 1} is now ${one.toLowerCase()} ${to + 1}`);
    focusIn(to, `:scope > .item-head [data-name="${button}"]:not(:disabled)`);
  };
  const remove = (index: number): void => {
    const left = list.filter((_, other) => other !== index);
    set(at, left);
    setSaid(`${one} ${index + 1} is removed, ${left.length} left`);
    if (left.length > 0) focusIn(Math.min(index, left.length - 1), ANY_BUTTON);
    else requestAnimationFrame(() => adding.current?.focus());
  };
  const add = (): void => {
    const name = textsName(filled, at);
    set(at, [...list, make((prefix) => freeId(prefix, list.length + 1, (id) => used.has(`${name}.${id}`)))]);
    focusIn(list.length, 'input, textarea, select');
  };
  return (
    <div class="stack-small">
      <ol class="items" aria-label={label} ref={rows}>
        {list.map((_, index) => (
          <li class="item" key={index} aria-label={`${one} ${index + 1}`} onFocusIn={() => onLook?.(index)}>
            <ItemHead
              name={`${one} ${index + 1}`}
              isFirst={index === 0}
              isLast={index === list.length - 1}
              mayGo={list.length > min}
              onMove={(by, button) => move(index, index + by, button)}
              onRemove={() => remove(index)}
            />
            {children([...at, index], index)}
          </li>
        ))}
      </ol>
      <p class="hidden" role="status">
        {said}
      </p>
      <ProblemAt at={at} />
      {list.length < max && (
        <button type="button" class="button small" ref={adding} onClick={add}>
          <Icon name="plus" /> Add {/^[aeiou]/i.test(one) ? 'an' : 'a'} {one.toLowerCase()}
        </button>
      )}
    </div>
  );
}

const ANY_BUTTON = 'button:not(:disabled)';

interface ItemHeadProps {
  name: string;
  isFirst: boolean;
  isLast: boolean;
  /** Whether it may be removed. */
  mayGo: boolean;
  onMove(by: number, button: IconName): void;
  onRemove(): void;
}

function ItemHead({ name, isFirst, isLast, mayGo, onMove, onRemove }: ItemHeadProps): VNode {
  const what = name.toLowerCase();
  const buttons: { icon: IconName; says: string; isOff: boolean; act(): void }[] = [
    { icon: 'up', says: `Move ${what} up`, isOff: isFirst, act: () => onMove(-1, 'up') },
    { icon: 'down', says: `Move ${what} down`, isOff: isLast, act: () => onMove(1, 'down') },
    { icon: 'close', says: `Remove ${what}`, isOff: !mayGo, act: onRemove },
  ];
  return (
    <div class="item-head">
      <span class="strong">{name}</span>
      {buttons.map(({ icon, says, isOff, act }) => (
        <IconButton key={icon} icon={icon} label={says} disabled={isOff} onClick={act} />
      ))}
    </div>
  );
}
