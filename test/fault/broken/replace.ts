import { registerHooks } from 'node:module';

/**
 * Puts a broken module in the place of a sound one in this process, for every importer but the broken one itself, which
 * may build on the sound one. The service has no switch for it: only a process started with such a preload is broken.
 *
 * @param sound path of the module from the repository's root.
 */
export function replaceModule(sound: string, broken: URL): void {
  const target = new URL(`../../../${sound}`, import.meta.url).href;
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      if (resolved.url !== target || context.parentURL === broken.href) return resolved;
      return { ...resolved, url: broken.href };
    },
  });
}
