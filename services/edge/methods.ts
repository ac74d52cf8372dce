import type { HttpServer } from '#infra/http/http_server.ts';

/** The methods of the routes there are. */
export interface Methods {
  /** Of a path, sorted, OPTIONS among them; undefined for an unknown path. */
  of(path: string): string[] | undefined;
}

/** Notes the methods of every route added from here on, so that a wrong one is told from an unknown path. */
export function watchMethods(app: HttpServer): Methods {
  const known = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = known.get(url) ?? new Set(['OPTIONS']);
    for (const one of [method].flat()) methods.add(one);
    known.set(url, methods);
  });
  return {
    of(path) {
      const methods = known.get(path);
      return methods === undefined ? undefined : [...methods].sort();
    },
  };
}
