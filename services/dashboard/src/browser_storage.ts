// What this browser, or this tab of it, keeps; one that keeps nothing has it until the page is left. The theme is kept so.
import { effect, signal } from '@preact/signals';

/** What is kept under a key; null: nothing. `of` reads the storage, which browsers may refuse. */
export function readStored(of: () => Storage, key: string): string | null {
  try {
    return of().getItem(key);
  } catch {
    return null;
  }
}

/** Keeps a text, or with null nothing any more. */
export function writeStored(of: () => Storage, key: string, value: string | null): void {
  try {
    if (value === null) of().removeItem(key);
    else of().setItem(key, value);
  } catch {
    // It holds until the page is left.
  }
}

/** How bright the dashboard is: as the device says, or as the person chose. */
export type Theme = 'system' | 'light' | 'dark';

const KEY = 'svc_theme';
const SCHEMES: Readonly<Record<Theme, string>> = { system: 'light dark', light: 'light', dark: 'dark' };

export const theme = signal<Theme>(stored());

function stored(): Theme {
  const text = readStored(() => localStorage, KEY);
  return text === 'light' || text === 'dark' ? text : 'system';
}

/** Keeps the page in the scheme that was chosen, and the choice in this browser. */
export function followTheme(): void {
  effect(() => {
    document.documentElement.style.colorScheme = SCHEMES[theme.value];
    writeStored(() => localStorage, KEY, theme.value);
  });
}
