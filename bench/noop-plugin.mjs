/** The module of which `tasks-noop` and others run tasks. */
export async function run() {}
