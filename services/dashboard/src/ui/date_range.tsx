import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { TextField } from './form_fields.tsx';

interface DateRangeProps {
  firstDay: string;
  lastDay: string;
  onRange(firstDay: string, lastDay: string): void;
}

/** Two days, the first and the last, both meant. */
export function DateRange({ firstDay, lastDay, onRange }: DateRangeProps): VNode {
  const [first, setFirst] = useState(firstDay);
  const [last, setLast] = useState(lastDay);
  const isWrong = first === '' || last === '' || first > last;
  return (
    <form
      class="date-range"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isWrong) onRange(first, last);
      }}
    >
      <TextField label="First day" type="date" value={first} onValue={setFirst} />
      <TextField
        label="Last day"
        type="date"
        value={last}
        onValue={setLast}
        problem={isWrong ? 'The last day must not lie before the first.' : ''}
      />
      <button type="submit" class="button primary" disabled={isWrong}>
        Show these days
      </button>
    </form>
  );
}
