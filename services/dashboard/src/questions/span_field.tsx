import type { VNode } from 'preact';
import { useId, useState } from 'preact/hooks';
import { useTypedText } from '../ui/typed_text.ts';

interface SpanFieldProps {
  label: string;
  ms: number;
  problem?: string;
  onMs(ms: number): void;
}

const UNITS = [
  { ms: 86_400_000, label: 'days' },
  { ms: 3_600_000, label: 'hours' },
  { ms: 60_000, label: 'minutes' },
  { ms: 1_000, label: 'seconds' },
] as const;

/** The greatest unit of which a span of time is a whole number. */
const unitOf = (ms: number): number => UNITS.find((unit) => ms % unit.ms === 0)?.ms ?? 1_000;

/** A span of time as a number and its unit. */
export function SpanField({ label, ms, problem = '', onMs }: SpanFieldProps): VNode {
  const id = useId();
  const [unit, setUnit] = useState(() => unitOf(ms));
  // Another question may have a span that is no whole number of the unit that was chosen.
  const fitting = ms % unit === 0 ? unit : unitOf(ms);
  const typed = useTypedText(ms, (one) => String(one / fitting));
  // Whoever types 1.5 means the unit that stands beside it.
  const shown = typed.isTyped ? unit : fitting;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <span class="span-field">
        <input
          id={id}
          type="number"
          min={0}
          step="any"
          value={typed.text}
          {...(problem !== '' && { 'aria-invalid': 'true' as const, 'aria-describedby': `${id}p` })}
          onInput={(event) => {
            const text = event.currentTarget.value;
            const read = text === '' || Number(text) < 0 ? ms : Math.round(Number(text) * shown);
            typed.type(text, read);
            setUnit(shown);
            if (read !== ms) onMs(read);
          }}
          onBlur={typed.leave}
        />
        <select
          aria-label={`${label}: unit`}
          value={String(shown)}
          onChange={(event) => {
            const chosen = Number(event.currentTarget.value);
            typed.leave();
            setUnit(chosen);
            onMs((ms / shown) * chosen);
          }}
        >
          {UNITS.map((one) => (
            <option key={one.ms} value={String(one.ms)}>
              {one.label}
            </option>
          ))}
        </select>
      </span>
      {problem !== '' && (
        <p class="problem" id={`${id}p`} role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
