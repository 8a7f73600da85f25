package Disbatch::Plugin::Demo;

# A plugin as Disbatch has them: an object made with `workerthread` and `task`, whose `run` returns status, stdout and
# stderr. It does nothing but what `params.commands` says, letter by letter; others are passed over:
#
#   a   a line on stdout            b   a line on stderr, an error
#   c   a line on stderr, and the task fails
#   1 7 8 e   1, 7, 8, 15 MiB on stdout          A B C E   the same on stderr
#   *   the same as abc
#
# agent.yaml:
#   tasks:
#     plugins:
#       demo: { perl: Disbatch::Plugin::Demo, lib: [/opt/plugins/perl/lib] }

use strict;
use warnings;

my $MIB = 1024 * 1024;
my %STDOUT = (1 => 1, 7 => 7, 8 => 8, e => 15);
my %STDERR = (A => 1, B => 7, C => 8, E => 15);

sub new {
    my ($class, %args) = @_;
    return bless { workerthread => $args{workerthread}, task => $args{task} }, $class;
}

sub run {
    my ($self) = @_;
    my ($status, $stdout, $stderr) = (1, '', '');
    my $commands = $self->{task}{params}{commands} // '';
    $commands =~ s/\*/abc/g;
    for my $letter (split //, $commands) {
        $stdout .= "did a\n" if $letter eq 'a';
        $stderr .= "could not do b\n" if $letter eq 'b';
        if ($letter eq 'c') {
            $stderr .= "could not do c, and gave up\n";
            $status = 2;
        }
        $stdout .= 'x' x ($STDOUT{$letter} * $MIB) if $STDOUT{$letter};
        $stderr .= 'x' x ($STDERR{$letter} * $MIB) if $STDERR{$letter};
    }
    $self->{workerthread}->logger->info("did '$commands' for task $self->{task}{_id}");
    # No output at all is told apart from an empty one.
    return {
        status => $status,
        stdout => length $stdout ? $stdout : undef,
        stderr => length $stderr ? $stderr : undef,
    };
}

1;
