# The formula of one release, for a tap of your own. It has the SHA-256 of the release's archives.
class Minutehand < Formula
  desc "Job scheduler that calls URLs and sends messages on a calendar"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

@URLS@

  def install
    bin.install "minutehand"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/minutehand.bash" => "minutehand"
    zsh_completion.install "completions/_minutehand"
    fish_completion.install "completions/minutehand.fish"
  end

  service do
    run [opt_bin/"minutehand", "serve", "--data", var/"minutehand"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/minutehand --version")
  end
end
