import type { ComponentType } from 'preact';
import type { Permission } from '#pipelines/settings/access.ts';
import type { IconName } from './ui/button.tsx';

export interface PageProps {
  params: Readonly<Record<string, string>>;
}

/** A page as the router and the navigation know it. Its code is fetched when it is first shown. */
export interface Page {
  /** After /dashboard; parts that begin with a colon are parameters. Pages of a site begin with /sites/:site. */
  path: string;
  title: string;
  /** What the person must be permitted, so that the navigation lists it; null: everybody may. */
  permission: Permission | null;
  /** Where it must be permitted: in a whole account, or in the whole installation. Without it a site does. */
  within?: 'account' | 'installation';
  /** Where the navigation has it; without, it is reached from another page. */
  menu?: { group: 'Analyse' | 'Deliver' | 'Site' | 'Account'; icon: IconName };
  /** Whether what it shows is of the period that the bar on top chooses. */
  hasPeriod?: true;
  load(): Promise<{ default: ComponentType<PageProps> }>;
}
