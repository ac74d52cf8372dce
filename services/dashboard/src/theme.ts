import { effect, signal } from '@preact/signals';
import { readStored, writeStored } from './browser_storage.ts';

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
