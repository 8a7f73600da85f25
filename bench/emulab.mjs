/** The load that Emulab's sizing was for: nodes with so many programs each, of which each subscribes by content. */
export const PROGRAMS = 10;
export const NODES_IN_EXPERIMENT = 100;

export function subscriptionsOf(nodes) {
  return Array.from({ length: nodes * PROGRAMS }, (_, n) => {
    const node = Math.floor(n / PROGRAMS);
    return {
      experiment: `pid/eid${Math.floor(node / NODES_IN_EXPERIMENT)}`,
      host: `10.${node >> 16}.${(node >> 8) & 255}.${node & 255}`,
      program: `prog${n % PROGRAMS}`,
    };
  });
}

/** What its agents subscribe to: an experiment, all hosts or their own, one object, some types of event. */
export function selectorOf({ experiment, host, program }) {
  return (
    `(EXPT = '${experiment}') AND (HOST = '*' OR HOST = '${host}') AND OBJNAME = '${program}' AND ` +
    `EVENTTYPE IN ('RUN', 'START', 'STOP', 'HALT', 'KILL') AND SCHEDULER = 0`
  );
}
