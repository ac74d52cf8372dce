import type { VNode } from 'preact';
import { PRESETS, readPeriod } from '../period.ts';
import { place, setQuery } from '../router.ts';
import { DateRange } from './date_range.tsx';
import { Icon } from './icon.tsx';
import { Menu } from './menu.tsx';

/** Chooses the time that the page is about; the address keeps it. */
export function PeriodPicker(): VNode {
  const { query } = place.value;
  const period = readPeriod(query, Date.now());
  const label = (
    <>
      <Icon name="calendar" />
      <span>{period.label}</span>
      <Icon name="down" />
    </>
  );
  return (
    <Menu label={label} name={`Period: ${period.label}`} align="end">
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
