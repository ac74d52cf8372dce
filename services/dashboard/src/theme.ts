import { effect, signal } from '@preact/signals';

/** How bright the dashboard is: as the device says, or as the person chose. */
export type Theme = 'system' | 'light' | 'dark';

const KEY = 'svc_theme';
const SCHEMES: Readonly<Record<Theme, string>> = { system: 'light dark', light: 'light', dark: 'dark' };

export const theme = signal<Theme>(stored());

function stored(): Theme {
  try {
    const text = localStorage.getItem(KEY);
    return text === 'light' || text === 'dark' ? text : 'system';
  } catch {
    // A browser that keeps nothing has the device's scheme.
    return 'system';
  }
}

/** Keeps the page in the scheme that was chosen, and the choice in this browser. */
export function followTheme(): void {
  effect(() => {
    document.documentElement.style.colorScheme = SCHEMES[theme.value];
    try {
      localStorage.setItem(KEY, theme.value);
    } catch {
      // It holds until the page is left.
    }
  });
}
