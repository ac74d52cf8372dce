import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { poll } from '../api/use_answer.ts';
import { type Period, PRESETS, readPeriod } from '../period.ts';
import { currentLocation, setQuery } from '../router.ts';
import { Button, Icon } from './button.tsx';
import { submitHandler, TextField } from './form_fields.tsx';

/**
 * The period of the address, which ends now. A page that stays open reads it anew every so often, so that what it asks again is
 * of the time since; null: only when it is drawn.
 */
export function usePeriod(everyMs: number | null): Period {
  const [, setRound] = useState(0);
  useEffect(
    () => (everyMs === null ? undefined : poll(async () => setRound((before) => before + 1), everyMs)),
    [everyMs],
  );
  return readPeriod(currentLocation.value.query, Date.now());
}

export function PeriodPicker() {
  const { query } = currentLocation.value;
  const period = readPeriod(query, Date.now());
  const label = (
    <>
      <Icon name="calendar" />
      <span>{period.label}</span>
      <Icon name="down" />
    </>
  );
  return (
    <Menu label={label} name={`Period: ${period.label}`}>
      {(close) => (
        <>
          <ul class="menu-list">
            {PRESETS.map(({ name, label: text }) => (
              <li key={name}>
                <button
                  type="button"
                  class="menu-item"
                  aria-current={text === period.label}
                  onClick={() => {
                    setQuery({ period: name, from: null, to: null }, 'push');
                    close();
                  }}
                >
                  {text}
                </button>
              </li>
            ))}
          </ul>
          <hr />
          <DateRange
            firstDay={period.firstDay}
            lastDay={period.lastDay}
            onRange={(from, to) => {
              setQuery({ period: null, from, to }, 'push');
              close();
            }}
          />
        </>
      )}
    </Menu>
  );
}

interface DateRangeProps {
  firstDay: string;
  lastDay: string;
  onRange(firstDay: string, lastDay: string): void;
}

function DateRange({ firstDay, lastDay, onRange }: DateRangeProps) {
  const [first, setFirst] = useState(firstDay);
  const [last, setLast] = useState(lastDay);
  const isWrong = first === '' || last === '' || first > last;
  return (
    <form
      class="date-range"
      onSubmit={submitHandler(() => {
        if (!isWrong) onRange(first, last);
      })}
    >
      <TextField label="First day" type="date" value={first} onValue={setFirst} />
      <TextField
        label="Last day"
        type="date"
        value={last}
        onValue={setLast}
        problem={isWrong ? 'The last day must not be before the first.' : ''}
      />
      <Button type="submit" kind="primary" label="Apply" disabled={isWrong} />
    </form>
  );
}

interface MenuProps {
  label: ComponentChildren;
  name: string;
  children: (close: () => void) => ComponentChildren;
}

/** A button and what opens below it. Escape, a click elsewhere and leaving it by keyboard close it. */
export function Menu({ label, name, children }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const onPointer = (event: PointerEvent): void => {
      if (event.target instanceof Node && root.current?.contains(event.target) === false) setOpen(false);
    };
    document.addEventListener('pointerdown', onPointer);
    return () => document.removeEventListener('pointerdown', onPointer);
  }, [isOpen]);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it hears what happens to the button and the fields in it.
    <div
      class="menu"
      ref={root}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isOpen) return;
        event.preventDefault();
        close();
      }}
      onFocusOut={(event) => {
        const to = event.relatedTarget;
        if (to instanceof Node && root.current?.contains(to) === false) setOpen(false);
      }}
    >
      <button
        ref={button}
        type="button"
        class="button menu-button"
        aria-expanded={isOpen}
        aria-label={name}
        onClick={() => setOpen(!isOpen)}
      >
        {label}
      </button>
      {isOpen && <div class="menu-box menu-end">{children(close)}</div>}
    </div>
  );
}
