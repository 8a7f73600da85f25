import type { ComponentChildren } from 'preact';
import { Command } from './command.jsx';
import { CloseDialog, Dialog } from './dialog.jsx';

/** What takes a request that is signed with a key: the command that does it, for whoever has one. */
export function ByKey({
  title,
  command,
  onClose,
  children,
}: {
  readonly title: string;
  readonly command: string;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <p>
        It takes a request that is signed with your key, and no browser has one: run this where it is. This page shows
        it as soon as it is done.
      </p>
      <Command text={command} />
      <CloseDialog />
    </Dialog>
  );
}
