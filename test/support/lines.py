"""A program that answers lines with lines."""
import select
import subprocess


class Ended(Exception):
    """It answers no more; the text says why."""


class Lines:
    """Started at the first question, and anew when it has ended before the next one."""

    def __init__(self, program, environment, timeout):
        self.program, self.environment, self.timeout, self.process = program, environment, timeout, None

    def start(self):
        self.process = subprocess.Popen([self.program], env=self.environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def stop(self):
        """Kill it. @return its exit code"""
        process, self.process = self.process, None
        process.kill()
        process.stdin.close()
        process.stdout.close()
        return process.wait()

    def ask(self, line):
        """@return the answer, as what stands between its tabs"""
        if self.process is None:
            self.start()
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # told below
        if not select.select([self.process.stdout], [], [], self.timeout)[0]:
            self.stop()
            raise Ended(f"no answer within {self.timeout:g} seconds")
        answer = self.process.stdout.readline().rstrip("\n")
        if answer == "":
            try:
                code = self.process.wait(10)
            except subprocess.TimeoutExpired:
                code = "no code"
            self.stop()
            raise Ended(f"{self.program} ended with {code}")
        return answer.split("\t")

    def end(self):
        """@return what was wrong about its end; None: nothing"""
        if self.process is None:
            return None
        self.process.stdin.close()
        try:
            code = self.process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            self.stop()
            return f"{self.program} does not end"
        self.process.stdout.close()
        self.process = None
        return f"{self.program} ended with {code}" if code != 0 else None
